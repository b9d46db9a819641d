// SPDX-License-Identifier: Apache-2.0
#include "nvidia-devices/host/gpu_users.h"

#include <string>
#include <string_view>

#include "base/number.h"
#include "host/host_file.h"
#include "kernel/directory_entries.h"
#include "lease/node_users.h"

namespace ogh::nvidia_devices {

namespace {

constexpr const char *module_directory = "/sys/module/nvidia";
constexpr size_t most_text = 4096; // a page, as each file of sysfs

/**
 * try_module_get() of each file that is opened (fops_get() and cdev_get() in chrdev_open()), and of ref_module() for each
 * link in holders: where the numbers are the same, no file is left. One that takes a reference otherwise is counted for a
 * file, and looked for in vain.
 */
bool is_no_node_open(const Sysroot &sysroot)
{
    const auto holders = sysroot.find(std::string(module_directory) + "/holders");
    const auto text = read_host_file(sysroot, std::string(module_directory) + "/refcnt", most_text);
    if (!holders || !text)
        return false;
    const auto is_module = [](std::string_view name) { return !name.starts_with('.'); };
    const size_t count =
        list_directory(holders->fd.get(), {"the modules on top of nvidia", is_module}).size();
    const auto references = parse_number(std::string_view(*text).substr(0, text->find('\n')));
    return references && *references == count;
}

} // namespace

GpuUsers find_users(const Sysroot &sysroot, const Inventory &inventory, const Processes &processes,
                    const Monitors &monitors)
{
    if (is_no_node_open(sysroot))
        return {};
    GpuNodes nodes;
    for (const Gpu &gpu : inventory.gpus) {
        if (gpu.information.minor)
            nodes.emplace(std::pair(gpu_major(inventory), *gpu.information.minor), lease_key(gpu));
    }
    return find_node_users(processes, nodes, "nvidia", monitors);
}

} // namespace ogh::nvidia_devices
