// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string_view>

#include "cdi/spec.h"

namespace ogh::cdi {

/** Whether somebody wants to know more of a device than its name: called with its kind and its name. */
using IsWanted = std::function<bool(std::string_view, std::string_view)>;

/**
 * A specification, in JSON or YAML: versions 0.3.0 to 1.1.0. Whatever the reference implementation refuses is refused.
 * Pure.
 * @param is_wanted the edits of other devices are checked, and left out: a file may have a thousand. Empty: all are
 * @throws Error (BrokenHost) that says what is wrong, and in which line
 */
Spec parse_spec(std::string_view text, const IsWanted &is_wanted = {});

} // namespace ogh::cdi
