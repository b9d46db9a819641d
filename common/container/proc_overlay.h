// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/log.h"
#include "container/attached.h"
#include "container/entered_container.h"
#include "edits/edits.h"

namespace ogh {

/**
 * Covers a folder of the container's /proc as `edit` has it. Where an earlier run has covered it with the same files,
 * the folders that are not there yet are added to it.
 * @throws Error
 */
Notes overlay_proc(const TmpfsEdit &edit, EnteredContainer &container, Attached &attached);

} // namespace ogh
