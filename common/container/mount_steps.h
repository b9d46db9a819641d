// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "container/entered_container.h"
#include "edits/edits.h"

namespace ogh {

// Steps of commit() that mount something. Mounts die with the container.

/** Edits::mounts; none where an earlier run has put the same source, with the same attributes. @throws Error */
void attach_mounts(const Edits &edits, EnteredContainer &container);

/** Edits::tree. @throws Error */
void put_tree(const Edits &edits, EnteredContainer &container);

/** Those of Edits::files that are mounted over others. @throws Error */
void bind_files(const Edits &edits, EnteredContainer &container);

} // namespace ogh
