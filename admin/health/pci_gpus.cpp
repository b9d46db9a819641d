// SPDX-License-Identifier: Apache-2.0
#include "health/pci_gpus.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <array>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "base/number.h"
#include "base/text.h"
#include "host/drm_nodes.h"
#include "host/host_file.h"
#include "kernel/directory_entries.h"

namespace ogh::admin {

namespace {

constexpr size_t max_gpus = 1024;
constexpr size_t max_sysfs_file = 4096;

constexpr std::array drivers{std::pair{"nvidia", "nvidia"}, std::pair{"amd", "amdgpu"}};

/** NVIDIA's driver has NVSwitches too. */
bool is_gpu(const Sysroot &sysroot, const std::string &device)
{
    const auto kind = read_host_file(sysroot, device + "/class", max_sysfs_file);
    return kind && kind->starts_with("0x03");
}

void add_gpus(const Sysroot &sysroot, const std::string &vendor, const std::string &driver,
              std::vector<PciGpu> &gpus)
{
    const std::string path = "/sys/bus/pci/drivers/" + driver;
    const auto directory = sysroot.find(path);
    if (!directory)
        return;
    const auto is_address = [](std::string_view name) { return parse_pci_address(name).has_value(); };
    const DirectoryListing listing{quote(sysroot.on_host(path)), is_address, max_gpus, ErrorKind::BrokenHost};
    for (const DirectoryEntry &entry : list_directory(directory->fd.get(), listing)) {
        const PciAddress address = *parse_pci_address(entry.name);
        const std::string device = sysfs_directory(address);
        struct stat status {};
        if (is_gpu(sysroot, device) &&
            ::fstatat(directory->fd.get(), entry.name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0)
            gpus.push_back({vendor, address, sysroot.find(device + "/physfn").has_value(), status.st_ino});
    }
}

/** "ue: 3", the first line. */
std::optional<std::uint64_t> uncorrectable_of(std::string_view text)
{
    constexpr std::string_view name = "ue: ";
    if (!text.starts_with(name))
        return std::nullopt; // "Query currently inaccessible"
    text.remove_prefix(name.size());
    return parse_number(text.substr(0, text.find('\n')));
}

} // namespace

std::vector<PciGpu> find_pci_gpus(const Sysroot &sysroot)
{
    std::vector<PciGpu> gpus;
    for (const auto &[vendor, driver] : drivers)
        add_gpus(sysroot, vendor, driver, gpus);
    return gpus;
}

std::optional<std::uint64_t> uncorrectable_errors(const Sysroot &sysroot, const PciAddress &address)
{
    const std::string device = sysfs_directory(address);
    const auto power = read_host_file(sysroot, device + "/power/runtime_status", max_sysfs_file);
    const std::string path = device + "/ras";
    const auto directory = sysroot.find(path);
    if (!directory || (power && !power->starts_with("active") && !power->starts_with("unsupported")))
        return std::nullopt;
    const auto is_count = [](std::string_view name) { return name.ends_with("_err_count"); };
    const DirectoryListing listing{quote(sysroot.on_host(path)), is_count, max_gpus, ErrorKind::BrokenHost};
    std::optional<std::uint64_t> sum;
    for (const DirectoryEntry &entry : list_directory(directory->fd.get(), listing)) {
        const auto text =
            read_file_in(directory->fd.get(), entry.name, max_sysfs_file, quote(path + "/" + entry.name));
        if (const auto count = text ? uncorrectable_of(*text) : std::nullopt)
            sum = sum.value_or(0) + *count;
    }
    return sum;
}

} // namespace ogh::admin
