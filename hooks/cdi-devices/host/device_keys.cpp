// SPDX-License-Identifier: Apache-2.0
#include "cdi-devices/host/device_keys.h"

#include <sys/stat.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/log.h"
#include "base/path_names.h"
#include "base/text.h"
#include "host/host_file.h"
#include "host/pci_address.h"
#include "host/proc_devices.h"
#include "host/sysroot.h"
#include "lease/state/lease_state.h"
#include "nvidia/listed_gpus.h"

namespace ogh::cdi_devices {

namespace {

/** Linux gives it to NVIDIA's driver: Documentation/admin-guide/devices.txt. */
constexpr unsigned nvidia_major = 195;

bool has_cap(const std::set<unsigned> &caps, const std::optional<CapNode> &node)
{
    return node && caps.contains(node->minor);
}

/** The nodes of NVIDIA's driver: which of them there are, and which GPUs a set of them gives. */
class NvidiaNodes final {
public:
    /** Both have to outlive it. */
    NvidiaNodes(const ProcDevices &majors, const Sysroot &sysroot, Notes &notes)
        : majors_(majors), sysroot_(sysroot), notes_(notes)
    {
    }

    /**
     * Whether character devices of this number are the driver's, and are for GPUs that it lists in /proc. Where it is not
     * loaded its own number is nevertheless: the node would be a GPU's once it is.
     * @throws Error (BrokenHost) if the list cannot be read
     */
    [[nodiscard]] bool has(unsigned major)
    {
        if (!is_named(major) && major != nvidia_major)
            return false;
        const bool is_loaded =
            std::any_of(driver_devices.begin(), driver_devices.end(),
                        [&](std::string_view name) { return majors_.major_of(name).has_value(); });
        return !is_loaded || !gpus().empty();
    }

    /** Begins a new set. */
    void begin()
    {
        minors_.clear();
        caps_.clear();
    }

    /**
     * Adds a node for which has() is true, and which is no IMEX channel.
     * @param path for messages
     * @return whether it is a GPU's or an instance's, and not one that all have in common
     * @throws Error: BrokenHost if no GPU and no instance has it; the GPU's own problem
     */
    bool add(unsigned major, unsigned minor, const std::string &path)
    {
        const bool is_cap = majors_.major_of(caps_devices) == major;
        const bool is_shared = majors_.major_of(uvm_devices) == major || (!is_cap && minor > max_gpu_minor);
        if (is_cap)
            add_instance(minor, path);
        else if (!is_shared)
            add_gpu(minor, path);
        return !is_shared;
    }

    /** What leases know the GPUs and instances of the set by. */
    [[nodiscard]] std::set<LeaseKey> keys() const
    {
        std::set<LeaseKey> found;
        for (const ListedGpu &gpu : gpus_.value_or(std::vector<ListedGpu>())) {
            std::set<LeaseKey> instances = instances_of(gpu);
            const bool is_given = gpu.information.minor && minors_.contains(*gpu.information.minor);
            if (instances.empty() && is_given)
                found.insert(lease_key(gpu));
            found.merge(instances);
        }
        return found;
    }

private:
    [[nodiscard]] bool is_named(unsigned major) const
    {
        const auto is_of = [&](std::string_view name) { return majors_.major_of(name) == major; };
        return std::any_of(driver_devices.begin(), driver_devices.end(), is_of) || is_of(uvm_devices) ||
               is_of(caps_devices) || is_of(imex_devices);
    }

    const std::vector<ListedGpu> &gpus()
    {
        if (!gpus_)
            gpus_ = list_nvidia_gpus(sysroot_, notes_).gpus;
        return *gpus_;
    }

    void read_instances()
    {
        if (has_instances_)
            return;
        has_instances_ = true;
        static_cast<void>(gpus());
        MigReader reader(sysroot_);
        for (ListedGpu &gpu : *gpus_)
            for (MigInstance &instance : gpu.instances)
                reader.read_nodes(gpu.information.minor.value(), instance);
    }

    void add_gpu(unsigned minor, const std::string &path)
    {
        const auto &all = gpus();
        const auto gpu = std::find_if(all.begin(), all.end(),
                                      [&](const ListedGpu &each) { return each.information.minor == minor; });
        if (gpu == all.end())
            throw Error(ErrorKind::BrokenHost,
                        "the driver has no GPU with the node " + quote(path) +
                            ", which has the minor number " + std::to_string(minor) +
                            ": the specification may be older than the driver, or the driver not "
                            "be loaded yet");
        if (!gpu->problem.empty())
            throw Error(gpu->problem_kind,
                        "the GPU " + to_text(gpu->address) + " cannot be given: " + gpu->problem);
        minors_.insert(minor);
    }

    void add_instance(unsigned minor, const std::string &path)
    {
        read_instances();
        const std::set<unsigned> wanted{minor};
        for (const ListedGpu &gpu : gpus()) {
            if (std::any_of(gpu.instances.begin(), gpu.instances.end(), [&](const MigInstance &instance) {
                    return has_cap(wanted, instance.gpu_node) || has_cap(wanted, instance.compute_node);
                })) {
                caps_.insert(minor);
                return;
            }
        }
        throw Error(ErrorKind::Denied,
                    "the node " + quote(path) +
                        " is no instance's of a GPU (MIG): it stands for another right over "
                        "GPUs, or the specification is older than how they are divided");
    }

    [[nodiscard]] std::set<LeaseKey> instances_of(const ListedGpu &gpu) const
    {
        std::set<LeaseKey> found;
        for (const MigInstance &instance : gpu.instances)
            if (has_cap(caps_, instance.compute_node))
                found.insert(lease_key(gpu, instance));
        // Who has a GPU instance alone can divide it further.
        for (const MigInstance &instance : gpu.instances) {
            const LeaseKey outer = lease_key(gpu) + "/" + std::to_string(instance.gpu_instance);
            const auto is_in_it = [&](const LeaseKey &key) { return key.starts_with(outer + "/"); };
            if (has_cap(caps_, instance.gpu_node) && std::none_of(found.begin(), found.end(), is_in_it))
                found.insert(outer);
        }
        return found;
    }

    const ProcDevices &majors_;
    const Sysroot &sysroot_;
    Notes &notes_;
    std::optional<std::vector<ListedGpu>> gpus_; ///< once they are read
    bool has_instances_ = false;                 ///< their nodes are read
    std::set<unsigned> minors_;                  ///< of GPUs
    std::set<unsigned> caps_;                    ///< of /dev/nvidia-caps
};

constexpr const char *amd_hook = "amd-kfd";
constexpr const char *nvidia_hook = "nvidia-devices";

/** Linux names it in Documentation/admin-guide/devices.txt. */
constexpr unsigned drm_major = 226;

/** Who has a node, as sysfs says. */
struct SysfsOwner {
    std::string device; ///< "0000:1b:00.0", "amdgpu_xcp_1"; "" if it has none
    std::string driver; ///< "amdgpu"; "" if it has none
};

std::string numbers(const NodeEdit &node)
{
    return std::to_string(node.major) + ":" + std::to_string(node.minor);
}

SysfsOwner owner_of(const NodeEdit &node, const Sysroot &sysroot)
{
    const auto device = sysroot.find("/sys/dev/char/" + numbers(node) + "/device");
    if (!device)
        return {};
    return {file_name_of(device->path), linked_name(device->fd.get(), "driver")};
}

/** One look at the host, for all devices. */
class Finder final {
public:
    Finder(bool may_give_gpus, const Sysroot &sysroot, Notes &notes)
        : may_give_gpus_(may_give_gpus), sysroot_(sysroot), majors_(read_proc_devices(sysroot)),
          nvidia_(majors_, sysroot, notes)
    {
    }

    [[nodiscard]] DeviceKeys find(const DeviceNodes &nodes)
    {
        found_ = {};
        own_.clear();
        plain_.clear();
        nvidia_.begin();
        for (const NodeEdit &node : nodes.own)
            add(node, true);
        // With nothing but what is no device it is what the file's devices share.
        const bool has_own = !plain_.empty();
        for (const NodeEdit &node : nodes.of_file)
            add(node, !has_own);
        if (may_give_gpus_)
            own_.merge(nvidia_.keys());
        const std::set<LeaseKey> &keys = own_.empty() ? plain_ : own_;
        found_.keys.assign(keys.begin(), keys.end());
        return found_;
    }

private:
    /** @param is_own it is this device's alone */
    void add(const NodeEdit &node, bool is_own)
    {
        if (S_ISFIFO(node.type))
            return;
        if (S_ISCHR(node.type) && (add_nvidia(node) || add_of_sysfs(node)))
            return;
        if (is_own)
            plain_.insert((S_ISCHR(node.type) ? "char:" : "block:") + numbers(node));
    }

    [[nodiscard]] bool add_nvidia(const NodeEdit &node)
    {
        if (!nvidia_.has(node.major))
            return false;
        note_gpu(nvidia_hook, node);
        if (majors_.major_of(imex_devices) == node.major)
            return false; // whoever has the same one can share the memory of its GPU
        if (may_give_gpus_ && !nvidia_.add(node.major, node.minor, node.container_path))
            found_.of_driver.insert(node.container_path);
        return true;
    }

    [[nodiscard]] bool add_of_sysfs(const NodeEdit &node)
    {
        if (majors_.major_of("kfd") == node.major) {
            note_gpu(amd_hook, node);
            found_.of_driver.insert(node.container_path);
            return true;
        }
        const SysfsOwner &owner = find_owner(node);
        if (node.major == drm_major && owner.device.empty())
            throw Error(ErrorKind::BrokenHost,
                        "it cannot be told which GPU has the node " + quote(node.container_path) +
                            ": the host has no /sys/dev/char/" + numbers(node) + "; is its driver loaded?");
        const auto address = parse_pci_address(owner.device);
        if (owner.driver == "amdgpu" || owner.device.starts_with("amdgpu_xcp"))
            return add_gpu(amd_hook, "amd", address, node);
        if (owner.driver == "nvidia" && address)
            return add_gpu(nvidia_hook, "nvidia", address, node);
        if (address)
            own_.insert("pci:" + to_text(*address));
        return address.has_value();
    }

    /** A node that has several names is looked up once. */
    [[nodiscard]] const SysfsOwner &find_owner(const NodeEdit &node)
    {
        const auto [known, is_new] = owners_.try_emplace(numbers(node));
        if (is_new)
            known->second = owner_of(node, sysroot_);
        return known->second;
    }

    bool add_gpu(const char *hook, const char *vendor, const std::optional<PciAddress> &address,
                 const NodeEdit &node)
    {
        note_gpu(hook, node);
        if (may_give_gpus_ && !address)
            throw Error(ErrorKind::Denied, "the node " + quote(node.container_path) +
                                               " is a partition of a GPU, which the hook " +
                                               std::string(hook) + " alone gives");
        if (may_give_gpus_)
            own_.insert(gpu_lease_key(vendor, *address));
        return true;
    }

    void note_gpu(const char *hook, const NodeEdit &node)
    {
        if (!found_.gpu_hook.empty())
            return;
        found_.gpu_hook = hook;
        found_.gpu_node = node.container_path;
    }

    bool may_give_gpus_;
    const Sysroot &sysroot_;
    ProcDevices majors_;
    NvidiaNodes nvidia_;
    std::map<std::string, SysfsOwner> owners_; ///< by the numbers of character devices
    // Of the device that is looked at.
    DeviceKeys found_;
    std::set<LeaseKey> own_;   ///< of what has a place of its own
    std::set<LeaseKey> plain_; ///< of what only has numbers
};

} // namespace

std::vector<DeviceKeys> find_device_keys(const std::vector<DeviceNodes> &devices, bool may_give_gpus,
                                         const Sysroot &sysroot, Notes &notes)
{
    std::vector<DeviceKeys> found;
    if (std::all_of(devices.begin(), devices.end(),
                    [](const DeviceNodes &nodes) { return nodes.own.empty() && nodes.of_file.empty(); }))
        return {devices.size(), DeviceKeys()};
    Finder finder(may_give_gpus, sysroot, notes);
    found.reserve(devices.size());
    for (const DeviceNodes &nodes : devices)
        found.push_back(finder.find(nodes));
    return found;
}

} // namespace ogh::cdi_devices
