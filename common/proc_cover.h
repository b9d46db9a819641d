// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "attached.h"
#include "edits.h"
#include "entered_container.h"
#include "log.h"

namespace ogh {

/**
 * Covers a folder of the container's /proc as `edit` has it. Where an earlier run has covered it with the same files,
 * the folders that are not there yet are added to it.
 * @throws Error
 */
Notes cover_proc(const TmpfsEdit &edit, EnteredContainer &container, Attached &attached);

} // namespace ogh
