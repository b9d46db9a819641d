// SPDX-License-Identifier: Apache-2.0
#include "amd-kfd/npu.h"

#include <algorithm>
#include <tuple>

#include "base/error.h"
#include "base/number.h"
#include "base/text.h"
#include "host/host_file.h"
#include "kernel/folder_entries.h"

namespace ogh::amd_kfd {

namespace {

constexpr const char *accel_class = "/sys/class/accel";
constexpr std::string_view prefix = "accel";
constexpr const char *driver = "amdxdna";
constexpr size_t max_accel_nodes = 1024;

bool is_accel(std::string_view name)
{
    return name.starts_with(prefix) && parse_number(name.substr(prefix.size()));
}

} // namespace

std::vector<Npu> read_npus(const Sysroot &sysroot)
{
    std::vector<Npu> npus;
    const std::string what = sysroot.on_host(accel_class);
    if (const auto folder = sysroot.find(accel_class)) {
        const int fd = folder->fd.get();
        for (const auto &entry : list_folder(fd, {quote(what), is_accel, max_accel_nodes, ExitCode::Host})) {
            if (linked_name(fd, entry.name + "/device/driver") != driver)
                continue;
            if (const auto number = read_device_number(fd, entry.name + "/dev", what))
                npus.push_back({entry.name, *number});
        }
    }
    if (npus.empty())
        throw Error(ExitCode::Host, "this host has no AMD NPU in /dev/accel; 'modprobe " +
                                        std::string(driver) + "' on the host loads its driver");
    std::sort(npus.begin(), npus.end(), [](const Npu &a, const Npu &b) {
        return std::tie(a.number.major, a.number.minor) < std::tie(b.number.major, b.number.minor);
    });
    return npus;
}

} // namespace ogh::amd_kfd
