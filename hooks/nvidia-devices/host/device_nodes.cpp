// SPDX-License-Identifier: Apache-2.0
#include "nvidia-devices/host/device_nodes.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <cerrno>
#include <optional>
#include <string_view>

#include "base/device_number.h"
#include "base/text.h"
#include "host/host_file.h"
#include "nvidia/numbered_names.h"

namespace ogh::nvidia_devices {

namespace {

constexpr size_t max_number_size = 64;
constexpr const char *device_folder = "/dev";
constexpr const char *verbs_folder = "/sys/class/infiniband_verbs";
constexpr const char *connection_manager = "/sys/class/misc/rdma_cm/dev";
constexpr std::string_view gds_prefix = gds_devices;
constexpr std::string_view verbs_prefix = "uverbs";

Error nothing_there(const std::string &what, const std::string &module)
{
    return {ErrorKind::BrokenHost,
            "this host has no " + what + "; 'modprobe " + module + "' on the host loads its driver"};
}

/** The names in a folder of the host that are `prefix` and a number, in the order of the numbers. */
std::vector<NumberedName> numbered(const std::optional<ResolvedPath> &folder, const std::string &what,
                                   std::string_view prefix, unsigned limit)
{
    return folder ? numbered_names(folder->fd.get(), {what, prefix, limit}) : std::vector<NumberedName>();
}

/** Of one request: the capabilities one after the other. */
class NodesReader final {
public:
    NodesReader(const Sysroot &sysroot, const Inventory &inventory) : sysroot_(sysroot), inventory_(inventory)
    {
    }

    /** Which minors there are stands nowhere but in the nodes. */
    void read_gds()
    {
        const unsigned major_number = module_major(inventory_, gds_devices);
        const auto folder = sysroot_.find(device_folder);
        const auto found = numbered(folder, sysroot_.on_host(device_folder), gds_prefix, max_minor);
        if (found.empty())
            throw nothing_there("node '/dev/nvidia-fs0'", std::string(gds_devices));
        for (const auto &[number, name] : found)
            nodes_.push_back(stat_node(folder->fd.get(), name, major_number));
    }

    void read_gdrcopy() { nodes_.push_back({"/dev/gdrdrv", module_major(inventory_, gdrcopy_devices), 0}); }

    void read_mofed()
    {
        const auto folder = sysroot_.find(verbs_folder);
        const auto found = numbered(folder, sysroot_.on_host(verbs_folder), verbs_prefix, max_minor);
        if (found.empty())
            throw nothing_there("InfiniBand device", "ib_uverbs");
        for (const auto &[number, name] : found)
            read_number("/dev/infiniband/" + name, std::string(verbs_folder) + "/" + name + "/dev");
        read_number("/dev/infiniband/rdma_cm", connection_manager);
    }

    std::vector<NamedNode> take() { return std::move(nodes_); }

private:
    [[nodiscard]] NamedNode stat_node(int folder, const std::string &name, unsigned major_number) const
    {
        const std::string path = "/dev/" + name;
        struct stat status {};
        if (::fstatat(folder, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0)
            throw SystemError(errno, "cannot look at " + quote(sysroot_.on_host(path)),
                              ErrorKind::BrokenHost);
        if (!S_ISCHR(status.st_mode) || major(status.st_rdev) != major_number)
            throw Error(ErrorKind::BrokenHost, quote(sysroot_.on_host(path)) + " is " + found_text(status) +
                                                   ", and no character device of " +
                                                   std::string(gds_devices) + " (major number " +
                                                   std::to_string(major_number) + ")");
        return {path, major_number, minor(status.st_rdev)};
    }

    static std::string found_text(const struct stat &status)
    {
        if (!S_ISCHR(status.st_mode))
            return S_ISLNK(status.st_mode)   ? "a symlink"
                   : S_ISREG(status.st_mode) ? "a plain file"
                                             : "something else";
        return "the character device " + std::to_string(major(status.st_rdev)) + ":" +
               std::to_string(minor(status.st_rdev));
    }

    /** "231:192", as each device's `dev` file in sysfs has it. */
    void read_number(const std::string &path, const std::string &file)
    {
        const auto text = read_host_file(sysroot_, file, max_number_size);
        if (!text)
            return;
        const auto number = parse_device_number(*text);
        if (!number)
            throw Error(ErrorKind::BrokenHost, quote(sysroot_.on_host(file)) + " has no device number");
        nodes_.push_back({path, number->major, number->minor});
    }

    const Sysroot &sysroot_;
    const Inventory &inventory_;
    std::vector<NamedNode> nodes_;
};

} // namespace

DeviceNodes read_device_nodes(const Sysroot &sysroot, const Inventory &inventory,
                              const GpuSelection &selection)
{
    DeviceNodes nodes;
    if (selection.gpus.empty())
        return nodes;
    const Capabilities &capabilities = selection.capabilities;
    if (capabilities.has(Capability::Graphics) || capabilities.has(Capability::Display)) {
        for (const size_t gpu : selection.gpus) {
            if (!inventory.gpus[gpu].is_divided)
                nodes.drm[gpu] = read_drm_nodes(sysroot, sysfs_folder(inventory.gpus[gpu].address));
        }
    }
    NodesReader reader(sysroot, inventory);
    if (capabilities.has(Capability::Gds))
        reader.read_gds();
    if (capabilities.has(Capability::Gdrcopy))
        reader.read_gdrcopy();
    if (capabilities.has(Capability::Mofed))
        reader.read_mofed();
    nodes.named = reader.take();
    return nodes;
}

} // namespace ogh::nvidia_devices
