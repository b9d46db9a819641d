// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "container/entered_container.h"
#include "edits/edits.h"

namespace ogh {

/**
 * The step of commit() for Edits::proc: covers a directory of the container's /proc. Where an earlier run has covered it
 * with the same files, the directories that are not there yet are added to it. All of it dies with the container.
 * @throws Error
 */
void bind_proc(const Edits &edits, EnteredContainer &container);

} // namespace ogh
