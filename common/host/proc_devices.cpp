// SPDX-License-Identifier: Apache-2.0
#include "host/proc_devices.h"

#include "base/error.h"
#include "base/number.h"
#include "base/text.h"
#include "host/host_file.h"

namespace ogh {

namespace {

constexpr size_t max_size = 65536;

} // namespace

ProcDevices::ProcDevices(std::string_view text)
{
    bool is_character = false;
    for (const std::string_view line : split_views(text, '\n')) {
        if (line == "Character devices:") {
            is_character = true;
            continue;
        }
        if (line.empty() && is_character)
            return;
        const size_t blank = line.find(' ');
        const auto number = parse_small_number(line.substr(0, blank), max_major);
        if (is_character && number && blank != std::string_view::npos)
            majors_.try_emplace(std::string(trimmed(line.substr(blank))), *number);
    }
}

std::optional<unsigned> ProcDevices::major_of(std::string_view name) const
{
    const auto driver = majors_.find(name);
    return driver == majors_.end() ? std::nullopt : std::optional(driver->second);
}

ProcDevices read_proc_devices(const Sysroot &sysroot)
{
    const auto text = read_host_file(sysroot, "/proc/devices", max_size);
    if (!text)
        throw Error(ErrorKind::BrokenHost, quote(sysroot.on_host("/proc/devices")) + " does not exist");
    return ProcDevices(*text);
}

} // namespace ogh
