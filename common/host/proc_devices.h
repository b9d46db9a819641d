// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "host/sysroot.h"

namespace ogh {

/** The character devices of /proc/devices: which major number a driver has. */
class ProcDevices final {
public:
    ProcDevices() = default;

    /** Lines that are not as proc_devices(5) has them are passed over. Block devices do not count. */
    explicit ProcDevices(std::string_view text);

    /**
     * @param name the whole name; many are the beginning of another
     * @return the first of that name
     */
    [[nodiscard]] std::optional<unsigned> major_of(std::string_view name) const;

private:
    std::map<std::string, unsigned, std::less<>> majors_; ///< by name
};

/** Reads /proc/devices below the sysroot. @throws Error (BrokenHost) if it cannot be read */
ProcDevices read_proc_devices(const Sysroot &sysroot);

} // namespace ogh
