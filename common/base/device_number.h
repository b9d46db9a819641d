// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string_view>

namespace ogh {

/** Of a device node. */
struct DeviceNumber {
    unsigned major = 0;
    unsigned minor = 0;

    bool operator==(const DeviceNumber &) const = default;
};

// The kernel's own device numbers have 12 and 20 bits, whatever dev_t of libc could hold.
constexpr unsigned max_major = (1U << 12U) - 1;
constexpr unsigned max_minor = (1U << 20U) - 1;

/** Understands a `dev` file of sysfs: "226:129" and a newline. Nothing if the text is anything else. */
std::optional<DeviceNumber> parse_device_number(std::string_view text);

} // namespace ogh
