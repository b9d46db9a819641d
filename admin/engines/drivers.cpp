// SPDX-License-Identifier: Apache-2.0
#include "engines/drivers.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <climits>
#include <functional>
#include <set>

#include "base/number.h"
#include "base/path_names.h"
#include "base/text.h"
#include "host/host_file.h"
#include "kernel/folder_entries.h"

namespace ogh::admin {

namespace {

constexpr size_t max_driver_file = 65536;
constexpr unsigned largest = 0xffffffff;
constexpr std::array library_folders{"/usr/lib64",
                                     "/usr/lib/x86_64-linux-gnu",
                                     "/usr/lib/aarch64-linux-gnu",
                                     "/usr/lib64/nvidia",
                                     "/usr/lib/x86_64-linux-gnu/nvidia/current",
                                     "/usr/lib",
                                     "/usr/local/lib"};

std::vector<FolderEntry> names_in(const Sysroot &sysroot, const std::string &folder,
                                  const std::function<bool(std::string_view)> &is_wanted)
{
    constexpr size_t most = 65536; // a server with hundreds of cards has some thousand devices
    const auto place = sysroot.find(folder);
    if (!place)
        return {};
    return list_folder(place->fd.get(), {quote(folder), is_wanted, most, ErrorKind::BrokenHost});
}

constexpr std::array<std::string_view, 2> library_prefixes{"libcuda.so.", "libnvidia-ml.so."};

bool is_library(std::string_view name)
{
    return std::any_of(library_prefixes.begin(), library_prefixes.end(),
                       [&](std::string_view prefix) { return name.starts_with(prefix); });
}

/** "0x030000\n" */
unsigned hexadecimal(const Sysroot &sysroot, const std::string &path)
{
    const std::string text = read_host_file(sysroot, path, max_driver_file).value_or("");
    if (!text.starts_with("0x"))
        return 0;
    return static_cast<unsigned>(std::min<std::uint64_t>(
        parse_number(trimmed(std::string_view(text).substr(2, text.find('\n') - 2)), 16).value_or(0),
        largest));
}

std::string bound_driver(const Sysroot &sysroot, const std::string &folder)
{
    const auto place = sysroot.find(folder);
    std::array<char, PATH_MAX> target{};
    const ssize_t length = place ? ::readlinkat(place->fd.get(), "driver", target.data(), target.size()) : -1;
    if (length <= 0)
        return "";
    return file_name_of({target.data(), static_cast<size_t>(length)});
}

bool is_version(const std::string &word)
{
    return std::count(word.begin(), word.end(), '.') >= 1 &&
           std::isdigit(static_cast<unsigned char>(word.front())) != 0 &&
           word.find_first_not_of("0123456789.") == std::string::npos;
}

} // namespace

std::vector<PciGpu> pci_gpus(const Sysroot &sysroot)
{
    constexpr unsigned display = 0x03;
    constexpr unsigned accelerator = 0x12; // class codes of the PCI Code and ID Assignment Specification
    constexpr unsigned base_class_shift = 16;
    const std::string bus = "/sys/bus/pci/devices";
    std::vector<PciGpu> found;
    for (const FolderEntry &entry :
         names_in(sysroot, bus, [](std::string_view name) { return !name.starts_with('.'); })) {
        const std::string folder = bus + "/" + entry.name;
        const unsigned vendor = hexadecimal(sysroot, folder + "/vendor");
        const unsigned kind = hexadecimal(sysroot, folder + "/class") >> base_class_shift;
        if ((vendor == nvidia_vendor || vendor == amd_vendor) && (kind == display || kind == accelerator))
            found.push_back({entry.name, vendor, bound_driver(sysroot, folder)});
    }
    return found;
}

std::optional<std::string> nvidia_module_version(const Sysroot &sysroot)
{
    std::string text = read_host_file(sysroot, "/proc/driver/nvidia/version", max_driver_file).value_or("");
    text = text.substr(0, text.find('\n'));
    for (const std::string &word : split_list(text, ' '))
        if (!word.empty() && is_version(word))
            return word;
    return std::nullopt;
}

std::vector<std::string> nvidia_file_versions(const Sysroot &sysroot)
{
    std::set<std::string> versions;
    for (const char *const folder : library_folders)
        for (const FolderEntry &entry : names_in(sysroot, folder, is_library))
            for (const std::string_view prefix : library_prefixes)
                if (entry.name.starts_with(prefix) && entry.name.size() > prefix.size())
                    if (const std::string version = entry.name.substr(prefix.size()); is_version(version))
                        versions.insert(version);
    return {versions.begin(), versions.end()};
}

} // namespace ogh::admin
