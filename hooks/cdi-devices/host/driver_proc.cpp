// SPDX-License-Identifier: Apache-2.0
#include "cdi-devices/host/driver_proc.h"

#include <array>
#include <utility>

#include "host/host_file.h"

namespace ogh::cdi_devices {

namespace {

constexpr size_t max_proc_file = 65536;

/** What the driver's libraries read, besides params. */
constexpr std::array shown_files{"version", "registry"};
constexpr std::array shown_folders{"gpus", "capabilities"};

} // namespace

std::optional<DriverProc> read_driver_proc(const Sysroot &sysroot)
{
    const std::string folder = driver_proc_folder;
    auto params = read_host_file(sysroot, folder + "/params", max_proc_file);
    if (!params)
        return std::nullopt;
    DriverProc proc{std::move(*params)};
    for (const char *name : shown_files)
        if (auto content = read_host_file(sysroot, folder + "/" + name, max_proc_file))
            proc.files.push_back({name, std::move(*content)});
    const auto found = sysroot.find(folder);
    proc.path = sysroot.on_host(found ? found->path : folder);
    for (const char *name : shown_folders)
        if (sysroot.find(folder + "/" + name))
            proc.folders.emplace_back(name);
    return proc;
}

} // namespace ogh::cdi_devices
