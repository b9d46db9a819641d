// SPDX-License-Identifier: Apache-2.0
#include "cdi-devices/host/nvidia_nodes.h"

#include <algorithm>
#include <string_view>

#include "base/error.h"
#include "base/text.h"

namespace ogh::cdi_devices {

namespace {

/** Linux gives it to NVIDIA's driver: Documentation/admin-guide/devices.txt. */
constexpr unsigned nvidia_major = 195;

bool has_cap(const std::set<unsigned> &caps, const std::optional<CapNode> &node)
{
    return node && caps.contains(node->minor);
}

} // namespace

bool NvidiaNodes::has(unsigned major)
{
    if (!is_named(major) && major != nvidia_major)
        return false;
    const bool is_loaded =
        std::any_of(driver_devices.begin(), driver_devices.end(),
                    [&](std::string_view name) { return majors_.major_of(name).has_value(); });
    return !is_loaded || !gpus().empty();
}

bool NvidiaNodes::is_named(unsigned major) const
{
    const auto is_of = [&](std::string_view name) { return majors_.major_of(name) == major; };
    return std::any_of(driver_devices.begin(), driver_devices.end(), is_of) || is_of(uvm_devices) ||
           is_of(caps_devices) || is_of(imex_devices);
}

const std::vector<ListedGpu> &NvidiaNodes::gpus()
{
    if (!gpus_)
        gpus_ = list_nvidia_gpus(sysroot_, notes_).gpus;
    return *gpus_;
}

void NvidiaNodes::begin()
{
    minors_.clear();
    caps_.clear();
}

bool NvidiaNodes::add(unsigned major, unsigned minor, const std::string &path)
{
    const bool is_cap = majors_.major_of(caps_devices) == major;
    const bool is_shared = majors_.major_of(uvm_devices) == major ||
                           majors_.major_of(imex_devices) == major || (!is_cap && minor > max_gpu_minor);
    if (is_cap)
        add_instance(minor, path);
    else if (!is_shared)
        add_gpu(minor, path);
    return !is_shared;
}

void NvidiaNodes::add_gpu(unsigned minor, const std::string &path)
{
    const auto &all = gpus();
    const auto gpu = std::find_if(all.begin(), all.end(),
                                  [&](const ListedGpu &each) { return each.information.minor == minor; });
    if (gpu == all.end())
        throw Error(ErrorKind::BrokenHost,
                    "the driver has no GPU with the node " + quote(path) + ", which has the minor number " +
                        std::to_string(minor) +
                        ": the specification may be older than the driver, or the driver not "
                        "be loaded yet");
    if (!gpu->problem.empty())
        throw Error(gpu->problem_kind,
                    "the GPU " + to_text(gpu->address) + " cannot be given: " + gpu->problem);
    minors_.insert(minor);
}

void NvidiaNodes::add_instance(unsigned minor, const std::string &path)
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
    throw Error(ErrorKind::Denied, "the node " + quote(path) +
                                       " is no instance's of a GPU (MIG): it stands for another right over "
                                       "GPUs, or the specification is older than how they are divided");
}

void NvidiaNodes::read_instances()
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

std::set<LeaseKey> NvidiaNodes::instances_of(const ListedGpu &gpu) const
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

std::set<LeaseKey> NvidiaNodes::keys() const
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

} // namespace ogh::cdi_devices
