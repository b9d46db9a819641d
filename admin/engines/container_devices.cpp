// SPDX-License-Identifier: Apache-2.0
#include "engines/container_devices.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <array>

#include "base/text.h"
#include "kernel/folder_entries.h"

namespace ogh::admin {

namespace {

constexpr size_t max_device_nodes = 4096;

struct Place {
    const char *folder;
    const char *prefix; ///< of the names
};

constexpr std::array places{Place{"/dev", "nvidia"},       Place{"/dev", "kfd"},
                            Place{"/dev/nvidia-caps", ""}, Place{"/dev/dri", "card"},
                            Place{"/dev/dri", "render"},   Place{"/dev/accel", "accel"}};

} // namespace

std::vector<ContainerNode> gpu_nodes(const Sysroot &root)
{
    std::vector<ContainerNode> nodes;
    for (const Place &place : places) {
        const auto folder = root.find(place.folder);
        if (!folder)
            continue;
        const auto is_wanted = [&](std::string_view name) { return name.starts_with(place.prefix); };
        for (const FolderEntry &entry : list_folder(
                 folder->fd.get(), {quote(place.folder), is_wanted, max_device_nodes, ExitCode::Host})) {
            struct stat status {};
            if (::fstatat(folder->fd.get(), entry.name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0 &&
                S_ISCHR(status.st_mode))
                nodes.push_back({std::string(place.folder) + "/" + entry.name,
                                 {DeviceRule::Type::Char, ::major(status.st_rdev), ::minor(status.st_rdev)}});
        }
    }
    return nodes;
}

std::vector<ContainerNode> gpu_nodes_of(const Sysroot &sysroot, pid_t pid)
{
    const auto root = Sysroot::of_process(sysroot, pid);
    return root ? gpu_nodes(*root) : std::vector<ContainerNode>{};
}

} // namespace ogh::admin
