// SPDX-License-Identifier: Apache-2.0
#include "nvidia-devices/driver/xorg_modules.h"

#include <optional>
#include <string_view>

#include "nvidia-devices/driver/library_machine.h"
#include "nvidia-devices/driver/library_search.h"

namespace ogh::nvidia_devices {

namespace {

struct Module {
    std::string kind; ///< the folder of its kind below the server's modules
    std::string link; ///< as the server knows it
    std::string file; ///< its own name
};

/** As nvidia-container-toolkit's CDI generator has it; in the driver's own folder modules lie side by side. */
std::vector<std::string> folders_of(const Module &module, const std::vector<std::string> &library_folders)
{
    std::vector<std::string> roots;
    std::vector<std::string> folders;
    for (const std::string &folder : library_folders) {
        folders.push_back(path_in(folder, "nvidia/xorg"));
        roots.push_back(path_in(folder, "xorg"));
    }
    roots.insert(roots.end(), {"/usr/lib/xorg", "/usr/lib64/xorg", "/usr/X11R6/lib", "/usr/X11R6/lib64"});
    for (const std::string &root : roots) {
        folders.push_back(root + "/modules/" + module.kind);
        folders.push_back(root + "/modules/updates/" + module.kind);
    }
    return folders;
}

/** What `path` leads to, if that is the module. */
std::optional<std::string> module_at(const DriverRoot &root, const std::string &path, const Module &module)
{
    const auto entry = root.find_file(path);
    if (!entry || name_in(entry->place.path) != module.file)
        return std::nullopt;
    const auto folder = root.find(folder_of(entry->place.path));
    if (!folder || !read_library(folder->place, module.file, native_machine()))
        return std::nullopt;
    return root.on_host(entry->place.path);
}

/** Its own name is tried first; Debian has but the link in the server's folder, and the file elsewhere. */
std::optional<std::string> find_module(const DriverRoot &root, const Module &module,
                                       const std::vector<std::string> &library_folders)
{
    for (const std::string &folder : folders_of(module, library_folders)) {
        for (const std::string &name : {module.file, module.link}) {
            if (auto path = module_at(root, path_in(folder, name), module))
                return path;
            if (module.file == module.link)
                break;
        }
    }
    return std::nullopt;
}

} // namespace

std::vector<DriverFile> find_xorg_modules(const DriverRoot &root,
                                          const std::vector<std::string> &library_folders,
                                          const std::string &version)
{
    const std::string driver = "nvidia_drv.so";
    const std::string extension = "libglxserver_nvidia.so";
    std::string extension_file = extension;
    extension_file += "." + version;
    std::vector<DriverFile> files;
    for (const Module &module :
         {Module{"drivers", driver, driver}, Module{"extensions", extension, extension_file}}) {
        const std::string folder = "modules/" + module.kind;
        if (const auto path = find_module(root, module, library_folders))
            files.push_back(
                {*path, path_in("lib64/xorg/" + folder, module.file), path_in(folder, module.link)});
    }
    return files;
}

} // namespace ogh::nvidia_devices
