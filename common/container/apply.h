// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/log.h"
#include "edits/edits.h"
#include "image/container_view.h"

namespace ogh {

/**
 * Enters the container and carries `edits` out; the only code that changes a container. What is there already stays as
 * it is, so that a second run changes nothing. On an error what this call made is taken away again.
 * @throws Error
 */
Notes apply(const Edits &edits, ContainerView &view);

} // namespace ogh
