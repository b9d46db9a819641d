// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "cdi-devices/spec/spec.h"

namespace ogh::cdi_devices {

/**
 * A specification, in JSON or YAML: versions 0.3.0 to 1.1.1. Whatever the reference implementation refuses is refused.
 * Pure.
 * @throws Error (Host) that says what is wrong, and in which line
 */
Spec parse_spec(std::string_view text);

} // namespace ogh::cdi_devices
