// SPDX-License-Identifier: Apache-2.0
#include "nvidia-devices/host/gpu_users.h"

#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "base/number.h"
#include "host/host_file.h"
#include "kernel/directory_entries.h"
#include "lease/presence/gpu_users.h"

namespace ogh::nvidia_devices {

namespace {

constexpr const char *module_directory = "/sys/module/nvidia";
constexpr size_t most_text = 4096; // a page, as each file of sysfs

/** Of nvidia.ko, as /proc/devices names them. */
constexpr std::array driver_nodes{"nvidia",         "nvidia-frontend",           "nvidiactl",
                                  "nvidia-caps",    "nvidia-caps-imex-channels", "nvidia-nvlink",
                                  "nvidia-nvswitch"};
/** /dev/nvidia-modeset, of the major of GPUs, is nvidia-modeset.ko's. */
constexpr unsigned other_modules_minor = 254;

/**
 * try_module_get() of each file that is opened (fops_get() and cdev_get() in chrdev_open()), and of ref_module() for each
 * link in holders: what is left when these are taken away is files. One that takes a reference otherwise, as memory that
 * was exported for another driver does (dma_buf_export()), is counted for a file, and looked for in vain.
 */
std::optional<size_t> count_open_nodes(const Sysroot &sysroot)
{
    const auto holders = sysroot.find(std::string(module_directory) + "/holders");
    const auto text = read_host_file(sysroot, std::string(module_directory) + "/refcnt", most_text);
    if (!holders || !text)
        return std::nullopt;
    const auto is_module = [](std::string_view name) { return !name.starts_with('.'); };
    const size_t count =
        list_directory(holders->fd.get(), {"the modules on top of nvidia", is_module}).size();
    const auto references = parse_number(std::string_view(*text).substr(0, text->find('\n')));
    return references && *references >= count ? std::optional<size_t>(*references - count) : std::nullopt;
}

} // namespace

GpuUsers find_users(const Sysroot &sysroot, const Inventory &inventory, const Processes &processes,
                    const Monitors &monitors)
{
    const unsigned major_number = gpu_major(inventory);
    DriverNodes nodes{
        {}, {}, {{major_number, other_modules_minor}}, [&] { return count_open_nodes(sysroot); }};
    for (const char *const name : driver_nodes) {
        if (const auto number = inventory.devices.major_of(name))
            nodes.majors.insert(*number);
    }
    for (const Gpu &gpu : inventory.gpus) {
        if (gpu.information.minor)
            nodes.gpus.emplace(std::pair(major_number, *gpu.information.minor), lease_key(gpu));
    }
    return find_node_users(processes, nodes, monitors);
}

} // namespace ogh::nvidia_devices
