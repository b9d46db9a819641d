// SPDX-License-Identifier: Apache-2.0
#include "nvidia-devices/driver/firmware.h"

#include <sys/stat.h>
#include <sys/utsname.h>

#include <cerrno>
#include <climits>
#include <iterator>
#include <string_view>

#include "base/error.h"
#include "base/path_names.h"
#include "base/text.h"
#include "host/host_file.h"
#include "kernel/folder_entries.h"

namespace ogh::nvidia_devices {

namespace {

constexpr const char *custom_path = "/sys/module/firmware_class/parameters/path";

/** A folder that the host's administrator has added for the kernel; "" if there is none. */
std::string custom_folder(const DriverRoot &root)
{
    std::string path;
    try {
        path = read_host_file(root.sysroot(), custom_path, PATH_MAX).value_or("");
    } catch (const Error &) {
        return ""; // no firmware in the container is no error
    }
    if (path.ends_with('\n'))
        path.pop_back();
    return path.starts_with('/') ? path : "";
}

/** As the kernel has it, Documentation/driver-api/firmware/fw_search_path.rst. */
std::vector<std::string> firmware_folders(const DriverRoot &root)
{
    utsname kernel{};
    if (::uname(&kernel) != 0)
        throw SystemError(errno, "cannot ask for the kernel's release");
    const std::string release(std::begin(kernel.release));
    std::vector<std::string> folders{"/lib/firmware/updates/" + release, "/lib/firmware/updates",
                                     "/lib/firmware/" + release, "/lib/firmware"};
    const std::string custom = custom_folder(root);
    if (!custom.empty())
        folders.insert(folders.begin(), custom);
    return folders;
}

bool is_firmware(std::string_view name)
{
    return name.starts_with("gsp") && name.ends_with(".bin") && is_plain_name(name);
}

/** @param path of a folder that is called as the driver's version */
std::vector<DriverFile> firmware_in(const DriverRoot &root, const std::string &path,
                                    const std::string &version)
{
    const auto folder = root.find(path);
    if (!folder || !S_ISDIR(folder->mode))
        return {};
    std::vector<DriverFile> files;
    const FolderListing listing{quote(root.on_host(path)), is_firmware, 0, ErrorKind::BrokenHost};
    for (const FolderEntry &each : list_folder(folder->place.fd.get(), listing)) {
        const auto file = root.find_file(path_in(folder->place.path, each.name));
        if (!file)
            continue;
        const std::string below = "firmware/nvidia/" + version + "/" + each.name;
        files.push_back({root.on_host(file->place.path), "share/" + below, "/lib/" + below});
    }
    return files;
}

} // namespace

std::vector<DriverFile> find_firmware(const DriverRoot &root, const std::string &version)
{
    for (const std::string &folder : firmware_folders(root)) {
        auto files = firmware_in(root, path_in(folder, "nvidia/" + version), version);
        if (!files.empty())
            return files;
    }
    return {};
}

} // namespace ogh::nvidia_devices
