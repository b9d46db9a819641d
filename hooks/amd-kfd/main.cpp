// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>

#include <cerrno>
#include <climits>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "amd-kfd/candidates.h"
#include "amd-kfd/inventory.h"
#include "amd-kfd/kfd_topology.h"
#include "amd-kfd/plan.h"
#include "base/error.h"
#include "base/number.h"
#include "base/text.h"
#include "hook/declared_options.h"
#include "hook/gpu_hook.h"
#include "host/sysroot.h"
#include "kernel/user_namespace.h"
#include "lease/presence/gpu_users.h"
#include "request/availability.h"
#include "request/selection.h"
#include "request/visible_devices.h"

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
    for (const pid_t pid : process_numbers(directory, quote(what))) {
        auto gpus = gpus_with_memory(directory, std::to_string(pid), files, what);
        if (gpus.empty() || monitors.has(processes, pid))
            continue;
        if (auto user = user_of(processes, pid, std::move(gpus)))
            users.push_back(std::move(*user));
    }
    return users;
}

/** In bytes: "512MiB", "2GiB". @return nothing if it is no such size */
std::optional<std::uint64_t> parse_memory_size(std::string_view text)
{
    const unsigned bits = text.ends_with("GiB") ? gibibyte_bits : mebibyte_bits;
    if (bits == mebibyte_bits && !text.ends_with("MiB"))
        return std::nullopt;
    const auto number = parse_small_number(text.substr(0, text.size() - 3), UINT_MAX);
    return number ? std::optional(std::uint64_t{*number} << bits) : std::nullopt;
}

/**
 * The processes that have memory of a GPU by KFD, which lists them by their pids on the host with what they have of each
 * GPU (/sys/class/kfd/kfd/proc/PID/vram_ID, kfd_process.c of the kernel), and the GPUs of whose memory
 * no less than `empty_below` bytes are in use (mem_info_vram_used, as amdgpu counts it without asking the GPU).
 * @throws Error (BrokenHost)
 */
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

class AmdHost final : public GpuHost {
public:
    AmdHost(const Sysroot &sysroot, Inventory inventory, std::uint64_t empty_below)
        : GpuHost(amd_kfd::candidates(inventory)), sysroot_(sysroot), inventory_(std::move(inventory)),
          empty_below_(empty_below)
    {
    }

    [[nodiscard]] HostListing table(const SelectionPolicy &policy) const override
    {
        return list_gpus(inventory_, candidates(), policy);
    }

    [[nodiscard]] GpuUsers find_users(const Processes &processes, const Monitors &monitors) const override
    {
        return amd_kfd::find_users(sysroot_, inventory_, empty_below_, processes, monitors);
    }

    [[nodiscard]] std::unique_ptr<const GpuInputs> gather(const std::vector<size_t> &chosen, Hook &hook,
                                                          Notes & /*notes*/) override
    {
        auto inputs = std::make_unique<AmdInputs>();
        inputs->chosen = chosen;
        inputs->is_rootless = !in_initial_user_namespace();
        if (hook.config())
            inputs->environment = hook.config()->environment;
        inputs->inventory = std::move(inventory_);
        return inputs;
    }

private:
    const Sysroot &sysroot_;
    Inventory inventory_; ///< moved into what gather() returns
    std::uint64_t empty_below_;
};

/** AMD's GPUs, as KFD and the DRM subsystem have them. */
class AmdGpus final : public GpuVendor {
public:
    /** AMD's plugin names nothing: it has the engine make the nodes that ROCm needs. */
    AmdGpus()
        : GpuVendor({.name = "amd-kfd",
                     .description = "Gives a container AMD GPUs of the host",
                     .tags = {"amd", "rocm"},
                     .cdi = {"amd.com/gpu", {}, {{"igpu0", "igpu"}}},
                     .plugin = {{.variable = "AMD_VISIBLE_DEVICES",
                                 .control_node = "/dev/kfd",
                                 .node_directory = "/dev/dri/",
                                 .node_prefix = "renderD"}},
                     .asked_of_tools = amd_visible_devices})
    {
    }

    void add_options(CommandLine &cli) override { cli.add(declared("--empty-below"), empty_below_); }

    void check_options(const CommonOptions & /*common*/, bool /*is_for_cdi*/) override
    {
        if (!parse_memory_size(empty_below_))
            throw Error(ErrorKind::Usage, "the option '--empty-below' is " + quote(empty_below_) +
                                              ", which is no size such as '512MiB' or '2GiB'");
    }

    std::unique_ptr<GpuHost> look_at_all(const Sysroot &sysroot, const SelectionPolicy & /*policy*/,
                                         Notes &notes) const override
    {
        Inventory inventory = read_inventory(sysroot, notes);
        if (const auto why = why_none(inventory))
            throw Error(*why);
        read_memory(sysroot, inventory);
        return std::make_unique<AmdHost>(sysroot, std::move(inventory), *parse_memory_size(empty_below_));
    }

    std::unique_ptr<GpuHost> look(const Sysroot &sysroot, const GpuRequest &request,
                                  Notes &notes) const override
    {
        Inventory inventory = read_inventory(sysroot, notes);
        if (const auto why = why_none(inventory)) {
            // What the host asks for containers that did not is not asked of a host without GPUs.
            if (!request.asked.may_go_without() || why->kind() != ErrorKind::NotAvailable)
                throw Error(*why);
            notes.push_back({LogLevel::Info, "nothing to do: " + std::string(why->what())});
            return nullptr;
        }
        if (request.selectors.allowed)
            read_access(sysroot, inventory);
        return std::make_unique<AmdHost>(sysroot, std::move(inventory), *parse_memory_size(empty_below_));
    }

private:
    std::string empty_below_ = "512MiB";
};

} // namespace

} // namespace ogh::amd_kfd

int main(int argc, char **argv)
{
    ogh::amd_kfd::AmdGpus gpus;
    return ogh::run_gpu_hook(argc, argv, gpus);
}
