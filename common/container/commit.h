// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "edits/edits.h"
#include "image/container_view.h"
#include "kernel/progress.h"

namespace ogh {

/**
 * Enters the container and carries `edits` out, all or nothing; the only code that changes a container. What is there
 * already stays as it is, so that a second run changes nothing.
 * @param view is used up
 * @param progress its undo log has what the run has done before. On an error it is run, with what this has done, and is
 *                 dropped otherwise; what is worth saying is added to the notes as it happens
 * @throws Error
 */
void commit(const Edits &edits, ContainerView &&view, Progress &progress);

} // namespace ogh
