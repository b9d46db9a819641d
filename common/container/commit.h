// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/log.h"
#include "base/undo_log.h"
#include "edits/edits.h"
#include "image/container_view.h"

namespace ogh {

/**
 * Enters the container and carries `edits` out, all or nothing; the only code that changes a container. What is there
 * already stays as it is, so that a second run changes nothing.
 * @param view is used up
 * @param undo what the run has done before. On an error it is run, with what this has done, and is dropped otherwise
 * @throws Error
 */
Notes commit(const Edits &edits, ContainerView &&view, UndoLog &undo);

} // namespace ogh
