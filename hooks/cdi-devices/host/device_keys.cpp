// SPDX-License-Identifier: Apache-2.0
#include "cdi-devices/host/device_keys.h"

#include <sys/stat.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/path_names.h"
#include "base/text.h"
#include "cdi-devices/host/nvidia_nodes.h"
#include "host/host_file.h"
#include "host/pci_address.h"
#include "host/proc_devices.h"

namespace ogh::cdi_devices {

namespace {

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
        for (const NodeEdit &node : nodes.of_file)
            add(node, nodes.own.empty());
        for (const NodeEdit &node : nodes.own)
            add(node, true);
        if (may_give_gpus_)
            own_.merge(nvidia_.keys());
        const std::set<LeaseKey> &keys = own_.empty() && found_.gpu_hook.empty() ? plain_ : own_;
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
    for (const DeviceNodes &nodes : devices)
        found.push_back(finder.find(nodes));
    return found;
}

} // namespace ogh::cdi_devices
