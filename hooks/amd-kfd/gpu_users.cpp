// SPDX-License-Identifier: Apache-2.0
#include "amd-kfd/gpu_users.h"

#include <fcntl.h>

#include <cerrno>
#include <climits>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "amd-kfd/sysfs_file.h"
#include "base/error.h"
#include "base/number.h"
#include "base/text.h"
#include "kernel/directory_entries.h"

namespace ogh::amd_kfd {

namespace {

constexpr const char *kfd_in_sysfs = "/sys/devices/virtual/kfd/kfd";
constexpr unsigned mebibyte_bits = 20;
constexpr unsigned gibibyte_bits = 30;

/** The files of a process, by their names, with the GPUs that they are about; partitions have one each. */
using MemoryFiles = std::map<std::string, LeaseKey>;

LeaseKey whole_key(const Gpu &gpu)
{
    return gpu_lease_key("amd", gpu.address);
}

MemoryFiles files_for(int kfd, const Inventory &inventory, const std::string &what)
{
    MemoryFiles files;
    for (const Gpu &gpu : inventory.gpus) {
        const SysfsFile id = read_sysfs_file(kfd, "topology/nodes/" + gpu.node + "/gpu_id", what);
        if (parse_number(id.text))
            files.emplace("vram_" + id.text, whole_key(gpu));
    }
    return files;
}

/** Those that the process has memory of. */
std::set<LeaseKey> gpus_with_memory(int directory, const std::string &pid, const MemoryFiles &files,
                                    const std::string &what)
{
    std::set<LeaseKey> gpus;
    for (const auto &[name, gpu] : files) {
        std::string path = pid;
        path.append("/").append(name);
        if (parse_number(read_sysfs_file(directory, path, what).text).value_or(0) != 0)
            gpus.insert(gpu);
    }
    return gpus;
}

std::vector<GpuUser> users_in(int directory, const MemoryFiles &files, const std::string &what,
                              const Processes &processes, const Monitors &monitors)
{
    std::vector<GpuUser> users;
    const auto is_process = [](std::string_view name) {
        return parse_small_number(name, INT_MAX).has_value();
    };
    for (const auto &entry : list_directory(directory, {quote(what), is_process, 0, ErrorKind::BrokenHost})) {
        const auto pid = static_cast<pid_t>(*parse_small_number(entry.name, INT_MAX));
        auto gpus = gpus_with_memory(directory, entry.name, files, what);
        if (gpus.empty() || monitors.has(processes, pid))
            continue;
        if (auto user = user_of(processes, pid, std::move(gpus)))
            users.push_back(std::move(*user));
    }
    return users;
}

} // namespace

std::optional<std::uint64_t> parse_memory_size(std::string_view text)
{
    const unsigned bits = text.ends_with("GiB") ? gibibyte_bits : mebibyte_bits;
    if (bits == mebibyte_bits && !text.ends_with("MiB"))
        return std::nullopt;
    const auto number = parse_small_number(text.substr(0, text.size() - 3), UINT_MAX);
    return number ? std::optional(std::uint64_t{*number} << bits) : std::nullopt;
}

GpuUsers find_users(const Sysroot &sysroot, const Inventory &inventory, std::uint64_t empty_below,
                    const Processes &processes, const Monitors &monitors)
{
    if (std::string why = why_unknown(processes); !why.empty())
        return GpuUsers::not_known(std::move(why));
    GpuUsers found;
    const auto kfd = sysroot.find(kfd_in_sysfs);
    // It is made for the first process.
    const UniqueFd listed(kfd ? ::openat(kfd->fd.get(), "proc", O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
                              : -1);
    const std::string what = sysroot.on_host(kfd_in_sysfs);
    if (!listed.valid() && kfd && errno != ENOENT)
        throw SystemError(errno, "cannot open " + quote(what + "/proc"), ErrorKind::BrokenHost);
    if (listed.valid())
        found.users = users_in(listed.get(), files_for(kfd->fd.get(), inventory, what), what + "/proc",
                               processes, monitors);
    const auto devices = sysroot.find("/sys/bus/pci/devices");
    for (const Gpu &gpu : inventory.gpus) {
        const SysfsFile file =
            devices ? read_sysfs_file(devices->fd.get(), to_text(gpu.address) + "/mem_info_vram_used",
                                      sysroot.on_host(devices->path))
                    : SysfsFile();
        const auto used = parse_number(file.text);
        if (used && *used >= empty_below)
            found.filled.emplace(whole_key(gpu),
                                 "has " + std::to_string(*used >> mebibyte_bits) +
                                     " MiB of its memory in use, and nobody has a lease of it");
    }
    return found;
}

} // namespace ogh::amd_kfd
