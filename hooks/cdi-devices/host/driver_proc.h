// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "host/sysroot.h"

namespace ogh::cdi_devices {

constexpr const char *driver_proc_folder = "/proc/driver/nvidia";

/** What NVIDIA's driver shows in /proc/driver/nvidia, of what a container is to see. */
struct DriverProc {
    struct File {
        std::string name;
        std::string content;
    };

    std::string params;
    std::vector<File> files = {};          ///< beside params
    std::string path = {};                 ///< of the folder, as this process names it
    std::vector<std::string> folders = {}; ///< their names
};

/** @return nothing if the driver is not loaded @throws Error (BrokenHost) */
std::optional<DriverProc> read_driver_proc(const Sysroot &sysroot);

} // namespace ogh::cdi_devices
