// SPDX-License-Identifier: Apache-2.0
#include "nvidia/driver_params.h"

#include <array>
#include <charconv>

#include "base/number.h"
#include "base/text.h"
#include "host/host_file.h"

namespace ogh {

namespace {

constexpr size_t max_proc_file = 65536;
constexpr std::string_view key = "ModifyDeviceFiles";
constexpr std::string_view masked = "ModifyDeviceFiles: 0";

bool has_key(std::string_view line)
{
    return trimmed(line.substr(0, line.find(':'))) == key;
}

} // namespace

DriverProc read_driver_proc(const Sysroot &sysroot)
{
    const auto directory = sysroot.find(driver_proc_directory);
    if (!directory)
        return {};
    const auto read = [&](const std::string &name) {
        return read_file_in(directory->fd.get(), name, max_proc_file,
                            quote(sysroot.on_host(directory->path + "/" + name)));
    };
    return {read("version"), read("params"), read("registry")};
}

TmpfsEdit plan_driver_proc(const DriverProc &proc)
{
    TmpfsEdit edit{driver_proc_directory};
    if (proc.version)
        edit.files.push_back({"version", *proc.version});
    if (proc.registry)
        edit.files.push_back({"registry", *proc.registry});
    edit.files.push_back({"params", params_for_container(proc.params.value_or(""))});
    return edit;
}

std::string egl_profile(const std::set<unsigned> &minors)
{
    constexpr unsigned bits = 64;
    std::uint64_t mask = 0;
    for (const unsigned minor : minors)
        mask |= minor < bits ? std::uint64_t{1} << minor : 0;
    std::array<char, bits / 4> digits{};
    const char *const end = std::to_chars(digits.begin(), digits.end(), mask, 16).ptr;
    return R"({"profiles": [{"name": "_container_", "settings": ["EGLVisibleDGPUDevices", 0x)" +
           std::string(digits.data(), static_cast<size_t>(end - digits.data())) +
           R"(]}], "rules": [{"pattern": [], "profile": "_container_"}]})" + "\n";
}

std::optional<std::uint64_t> driver_param(std::string_view text, std::string_view name)
{
    for (const std::string_view line : split_views(text, '\n')) {
        const size_t colon = line.find(':');
        if (colon != std::string_view::npos && trimmed(line.substr(0, colon)) == name)
            return parse_number(trimmed(line.substr(colon + 1)));
    }
    return std::nullopt;
}

std::string params_for_container(std::string_view text)
{
    std::string result;
    bool found = false;
    while (!text.empty()) {
        const std::string_view line = text.substr(0, text.find('\n'));
        found = found || has_key(line);
        result += has_key(line) ? masked : line;
        text.remove_prefix(line.size());
        if (!text.empty()) {
            result += '\n';
            text.remove_prefix(1);
        }
    }
    return found ? result : std::string(masked) + "\n" + result;
}

} // namespace ogh
