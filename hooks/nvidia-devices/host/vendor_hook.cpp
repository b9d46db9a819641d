// SPDX-License-Identifier: Apache-2.0
#include "nvidia-devices/host/vendor_hook.h"

#include <dirent.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "base/error.h"
#include "base/text.h"
#include "host/host_file.h"
#include "kernel/folder_entries.h"
#include "nvidia-devices/request/vendor_programs.h"

namespace ogh::nvidia_devices {

namespace {

constexpr std::array<const char *, 2> hook_folders{"/usr/share/containers/oci/hooks.d",
                                                   "/etc/containers/oci/hooks.d"};
constexpr size_t max_hooks = 256;
constexpr size_t max_hook_size = 65536;

/** Whether a text in quotes ends in `name`, as the whole of it or behind a slash. */
bool names_hook(std::string_view json, std::string_view name)
{
    for (size_t at = json.find(name); at != std::string_view::npos; at = json.find(name, at + 1)) {
        const size_t end = at + name.size();
        if (at > 0 && (json[at - 1] == '/' || json[at - 1] == '"') && end < json.size() && json[end] == '"')
            return true;
    }
    return false;
}

bool names_vendor_hook(std::string_view json)
{
    return std::any_of(vendor_hooks.begin(), vendor_hooks.end(),
                       [&](std::string_view name) { return names_hook(json, name); });
}

/** The file of a folder that names one; what cannot be read is passed over. */
std::optional<std::string> find_in(int folder, const std::string &what)
{
    const auto is_json = [](std::string_view name) { return name.ends_with(".json"); };
    for (const auto &entry : list_folder(folder, {quote(what), is_json, max_hooks, ExitCode::Host})) {
        if (entry.type != DT_REG)
            continue;
        const std::string file = quote(what + "/" + entry.name);
        try {
            const auto text = read_file_in(folder, entry.name, max_hook_size, file);
            if (text && names_vendor_hook(*text))
                return file;
        } catch (const Error &) {
            continue;
        }
    }
    return std::nullopt;
}

} // namespace

std::optional<std::string> find_vendor_hook(const Config &config, const Sysroot &sysroot)
{
    const auto in_config = std::find_if(config.hooks.begin(), config.hooks.end(), [](const HookEntry &hook) {
        return is_one_of(hook.path, vendor_hooks);
    });
    if (in_config != config.hooks.end())
        return "config.json (" + quote(in_config->path) + ")";
    for (const char *folder : hook_folders) {
        try {
            const auto place = sysroot.find(folder);
            auto found = place ? find_in(place->fd.get(), sysroot.on_host(folder)) : std::nullopt;
            if (found)
                return found;
        } catch (const Error &) {
            continue; // a warning is not worth the start of a container
        }
    }
    return std::nullopt;
}

} // namespace ogh::nvidia_devices
