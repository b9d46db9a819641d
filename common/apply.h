// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "edits.h"
#include "entered_container.h"
#include "log.h"

namespace ogh {

/**
 * Carries `edits` out; the only code that changes a container. What is there already stays as it is, so that a
 * second run changes nothing. On an error what this call made is taken away again.
 * @param container entered, with what `edits` need of the host brought along
 * @throws Error
 */
Notes apply(const Edits &edits, EnteredContainer &container);

/** The same for edits that need no look at the image: brings their sources along, and enters. */
Notes apply(const Edits &edits, const Container &container);

} // namespace ogh
