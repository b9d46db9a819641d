// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
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

/** The whole text as a number: digits alone, no sign, no blank; leading zeros are allowed. Nothing if it is none. */
std::optional<std::uint64_t> parse_number(std::string_view text, int base = 10);

/** As above, and nothing if it is above `limit`. */
std::optional<unsigned> parse_small_number(std::string_view text, unsigned limit);

/** In hexadecimal, with small letters, and zeros in front if it has fewer than `digits`, of which there are 1 to 16. */
std::string hexadecimal(std::uint64_t number, size_t digits);

} // namespace ogh
