// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace ogh {

/**
 * /proc/driver/nvidia/params as a container must see it: ModifyDeviceFiles is 0, or the driver's libraries and
 * nvidia-modprobe would make the nodes of every GPU. Every other line stays as it is. Where the key is missing it goes
 * first, since nvidia-modprobe reads no further than the first value that is no number.
 */
std::string params_for_container(std::string_view text);

/** A number of /proc/driver/nvidia/params; nothing if the driver does not have it. Of equal names the first counts. */
std::optional<std::uint64_t> driver_param(std::string_view text, std::string_view name);

} // namespace ogh
