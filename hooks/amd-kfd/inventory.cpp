// SPDX-License-Identifier: Apache-2.0
#include "amd-kfd/inventory.h"

#include <fcntl.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "amd-kfd/kfd_topology.h"
#include "base/error.h"
#include "base/number.h"
#include "base/text.h"
#include "host/drm_nodes.h"
#include "host/host_file.h"
#include "host/proc_devices.h"
#include "host/sysroot.h"
#include "kernel/directory_entries.h"
#include "kernel/user_namespace.h"

namespace ogh::amd_kfd {

namespace {

constexpr const char *drm_directory = "/sys/class/drm";
constexpr size_t max_drm_nodes = 4096;
constexpr std::string_view render_prefix = "renderD";

/** "renderD129" */
std::string render_name(unsigned render_minor)
{
    return std::string(render_prefix) + std::to_string(render_minor);
}

/**
 * /sys/class/drm, where each node of /dev/dri has a directory, and in that `device`, a symlink to what it is a node of: a
 * PCI device, or a platform device for all partitions of a GPU but the first. No device cgroup hides any of it.
 */
class DrmClass final {
public:
    /** @throws Error (BrokenHost) if sysfs cannot be looked into */
    explicit DrmClass(const Sysroot &sysroot)
        : place_(sysroot.find(drm_directory)), what_(sysroot.on_host(drm_directory))
    {
    }

    /** The name of the device of a render node: "0000:1b:00.0", "amdgpu_xcp_3"; "" if there is no such node. */
    [[nodiscard]] std::string device(unsigned render_minor) const
    {
        return place_ ? linked_name(place_->fd.get(), render_name(render_minor) + "/device") : "";
    }

    /** The nodes of that device; neither if there is no such node. @throws Error (BrokenHost) */
    [[nodiscard]] DrmNodes nodes(unsigned render_minor) const
    {
        return place_ ? read_drm_nodes(place_->fd.get(), render_name(render_minor) + "/device", what_)
                      : DrmNodes();
    }

    /** What amdgpu says is the unique id of a render node's device; 0 if it says none. @throws Error (BrokenHost) */
    [[nodiscard]] std::uint64_t unique_id(unsigned render_minor) const
    {
        return parse_number(read(render_minor, "unique_id").text, 16).value_or(0);
    }

    /** The bytes of its memory; nothing if it is not said. @throws Error (BrokenHost) */
    [[nodiscard]] std::optional<std::uint64_t> memory(unsigned render_minor) const
    {
        return parse_number(read(render_minor, "mem_info_vram_total").text);
    }

    /** The devices with a render node that the driver amdgpu has, sorted. @throws Error (BrokenHost) */
    [[nodiscard]] std::vector<std::string> amdgpu_devices() const
    {
        std::vector<std::string> devices;
        if (!place_)
            return devices;
        const auto is_render = [](std::string_view name) { return name.starts_with(render_prefix); };
        for (const auto &entry : list_directory(
                 place_->fd.get(), {quote(what_), is_render, max_drm_nodes, ErrorKind::BrokenHost})) {
            if (linked_name(place_->fd.get(), entry.name + "/device/driver") == "amdgpu")
                devices.push_back(linked_name(place_->fd.get(), entry.name + "/device"));
        }
        std::sort(devices.begin(), devices.end());
        return devices;
    }

private:
    [[nodiscard]] SysfsFile read(unsigned render_minor, const std::string &name) const
    {
        return place_
                   ? read_sysfs_file(place_->fd.get(), render_name(render_minor) + "/device/" + name, what_)
                   : SysfsFile();
    }

    std::optional<ResolvedPath> place_;
    std::string what_; ///< names it in messages
};

constexpr const char *wsl_device = "/dev/dxg";

void locate(Gpu &gpu, const DrmClass &drm)
{
    gpu.address = parent_address(gpu.kfd);
    gpu.partition = partition_number(gpu.kfd);
    if (!gpu.kfd.render_minor) {
        gpu.problem = "KFD's node " + gpu.node + " has no render node";
        return;
    }
    gpu.device = drm.device(*gpu.kfd.render_minor);
    try {
        gpu.drm = drm.nodes(*gpu.kfd.render_minor);
        gpu.drm_unique_id = drm.unique_id(*gpu.kfd.render_minor);
    } catch (const Error &error) { // it may be taken away at this moment, and the others are not
        gpu.problem = error.what();
    }
    if (gpu.problem.empty() && (!gpu.drm.render || gpu.drm.render->name != render_name(gpu)))
        gpu.problem = "the host has no " + render_name(gpu) + ", which KFD's node " + gpu.node + " refers to";
    if (const auto address = parse_pci_address(gpu.device)) {
        gpu.address = *address;
        gpu.partition = 0;
    }
}

/** The device cgroup knows a GPU by its render minor alone: two of one number could not be told apart. */
void refuse_shared_minors(std::vector<Gpu> &gpus)
{
    std::multiset<unsigned> minors;
    for (const Gpu &gpu : gpus)
        minors.insert(gpu.kfd.render_minor.value_or(0));
    for (Gpu &gpu : gpus) {
        if (gpu.problem.empty() && minors.count(*gpu.kfd.render_minor) > 1)
            gpu.problem = "KFD gives another GPU the same render node, " + render_name(gpu);
    }
}

/** `any` and `all` mean those that were passed into a system container. */
void leave_out_without_node(const Sysroot &sysroot, std::vector<Gpu> &gpus)
{
    if (in_initial_user_namespace())
        return;
    for (Gpu &gpu : gpus) {
        if (!gpu.problem.empty())
            continue;
        gpu.problem = why_without_node(sysroot, dri_directory + render_name(gpu));
        gpu.problem_kind = ErrorKind::NotAvailable;
    }
}

using Iterator = std::vector<Gpu>::iterator;

/** Some kernels give all partitions of a GPU one location; then they are counted in the order of their minors. */
void number_partitions(Iterator first, Iterator last)
{
    std::set<unsigned> seen;
    if (std::all_of(first, last, [&](const Gpu &gpu) { return seen.insert(gpu.partition).second; }))
        return;
    unsigned next = 0;
    for (; first != last; ++first)
        first->partition = next++;
}

/** Only the device of the first partition has the id of the whole GPU. */
void share_unique_id(Iterator first, Iterator last)
{
    const std::uint64_t whole = first->drm_unique_id;
    for (; first != last; ++first)
        first->drm_unique_id = first->drm_unique_id == 0 ? whole : first->drm_unique_id;
}

/** Of sorted GPUs: those of one address belong together. */
void number_parents(std::vector<Gpu> &gpus)
{
    unsigned next = 0;
    for (auto first = gpus.begin(); first != gpus.end(); ++next) {
        const PciAddress address = first->address;
        const auto last =
            std::find_if(first, gpus.end(), [&](const Gpu &gpu) { return !(gpu.address == address); });
        for (auto gpu = first; gpu != last; ++gpu)
            gpu->parent = next;
        number_partitions(first, last);
        share_unique_id(first, last);
        first = last;
    }
}

std::vector<Gpu> gpus_of(const KfdTopology &topology, const DrmClass &drm)
{
    std::vector<Gpu> gpus;
    gpus.reserve(topology.gpus.size());
    for (const KfdNode &node : topology.gpus) {
        Gpu &gpu = gpus.emplace_back();
        gpu.node = node.name;
        gpu.kfd = node.properties;
        locate(gpu, drm);
    }
    std::stable_sort(gpus.begin(), gpus.end(), [](const Gpu &a, const Gpu &b) {
        return std::tie(a.address, a.kfd.render_minor) < std::tie(b.address, b.kfd.render_minor);
    });
    number_parents(gpus);
    refuse_shared_minors(gpus);
    return gpus;
}

/** Of /dev/kfd; sysfs and the kernel's list of devices have to agree. */
std::optional<DeviceNumber> kfd_number(const Sysroot &sysroot, const KfdClass &kfd)
{
    const auto number = kfd.number();
    const auto major_number = read_proc_devices(sysroot).major_of("kfd");
    return number && major_number == number->major ? number : std::nullopt;
}

std::string count_text(size_t count)
{
    return std::to_string(count) + (count == 1 ? " AMD GPU" : " AMD GPUs");
}

Error without_compute(const std::vector<std::string> &devices)
{
    const std::string what =
        "the amdgpu driver has no compute (KFD): this host has no usable /dev/kfd (nothing in "
        "/sys/class/kfd or /proc/devices), although it has ";
    return {ErrorKind::BrokenHost,
            what + quote_list(devices) + "; a kernel with CONFIG_HSA_AMD, or AMD's own driver, has it"};
}

} // namespace

Inventory read_inventory(const Sysroot &sysroot, Notes &notes)
{
    Inventory inventory;
    inventory.host_root = sysroot.on_host("");
    const KfdClass kfd(sysroot);
    const DrmClass drm(sysroot);
    if (kfd.exists())
        inventory.kfd = kfd_number(sysroot, kfd);
    const KfdTopology topology = kfd.topology();
    inventory.gpus = gpus_of(topology, drm);
    leave_out_without_node(sysroot, inventory.gpus);
    inventory.hidden = topology.hidden;
    if (inventory.hidden != 0)
        notes.push_back({LogLevel::Info, count_text(inventory.hidden) +
                                             " of this host cannot be given: the device cgroup of this "
                                             "process does not let it open them"});
    if (!inventory.gpus.empty())
        return inventory;
    inventory.graphics_alone = drm.amdgpu_devices();
    inventory.is_wsl = sysroot.find(wsl_device).has_value();
    return inventory;
}

void read_memory(const Sysroot &sysroot, Inventory &inventory)
{
    const KfdClass kfd(sysroot);
    const DrmClass drm(sysroot);
    for (Gpu &gpu : inventory.gpus) {
        // KFD counts what an integrated one may use of the CPU's memory, and DRM all of a GPU that has partitions.
        if (gpu.drm.render)
            gpu.memory =
                is_integrated(gpu) ? drm.memory(*gpu.kfd.render_minor) : kfd.memory(gpu.node, gpu.kfd);
    }
}

void read_access(const Sysroot &sysroot, Inventory &inventory)
{
    for (Gpu &gpu : inventory.gpus) {
        const auto &node = gpu.drm.render;
        if (gpu.problem.empty())
            gpu.access =
                read_node_access(sysroot, dri_directory + node.value().name, {node->major, node->minor});
    }
}

std::optional<Error> why_none(const Inventory &inventory)
{
    if (!inventory.gpus.empty() && inventory.kfd)
        return std::nullopt;
    if (!inventory.gpus.empty()) {
        std::vector<std::string> devices;
        for (const Gpu &gpu : inventory.gpus)
            devices.push_back(gpu.device.empty() ? to_text(gpu.address) : gpu.device);
        return without_compute(devices);
    }
    const auto none = [](const std::string &why) {
        return Error(ErrorKind::NotAvailable, "this host has no AMD GPU (" + why + ")");
    };
    if (inventory.hidden != 0)
        return Error(ErrorKind::NotAvailable,
                     "the device cgroup of this process does not let it open any of the " +
                         count_text(inventory.hidden) + " of this host");
    if (!inventory.graphics_alone.empty() && !inventory.kfd)
        return without_compute(inventory.graphics_alone);
    if (!inventory.graphics_alone.empty())
        return none("none that computes: KFD, the compute half of amdgpu, does not list " +
                    quote_list(inventory.graphics_alone));
    if (inventory.is_wsl)
        return none("it has /dev/dxg, as WSL has, which this hook does not serve");
    return none(inventory.kfd ? "none in /sys/class/kfd/kfd/topology/nodes" : "no /sys/class/kfd");
}

std::string render_name(const Gpu &gpu)
{
    return gpu.kfd.render_minor ? render_name(*gpu.kfd.render_minor) : "";
}

bool is_integrated(const Gpu &gpu)
{
    return gpu.kfd.gfx.number == 0 ? gpu.kfd.cpu_cores_count != 0 : is_integrated(gpu.kfd.gfx);
}

} // namespace ogh::amd_kfd
