// SPDX-License-Identifier: Apache-2.0
#include "host/systemd_units.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "base/text.h"
#include "kernel/directory_entries.h"

namespace ogh {

namespace {

constexpr std::array<std::string_view, 5> unit_directories{"/etc/systemd/system", "/run/systemd/system",
                                                           "/usr/local/lib/systemd/system",
                                                           "/usr/lib/systemd/system", "/lib/systemd/system"};

bool holds_wanted_units(std::string_view name)
{
    return name.ends_with(".wants") || name.ends_with(".requires");
}

bool is_wanted(const Sysroot &sysroot, const std::string &directory, const std::string &unit)
{
    const auto place = sysroot.find(directory);
    if (!place)
        return false;
    const auto entries =
        list_directory(place->fd.get(), {quote(directory), holds_wanted_units, 0, ErrorKind::BrokenHost});
    return std::any_of(entries.begin(), entries.end(), [&](const DirectoryEntry &entry) {
        return sysroot.find(directory + "/" + entry.name + "/" + unit).has_value();
    });
}

bool is_masked(const Sysroot &sysroot, const std::string &directory, const std::string &unit)
{
    const auto place = sysroot.find(directory + "/" + unit);
    return place && place->path == "/dev/null";
}

} // namespace

bool is_enabled_unit(const Sysroot &sysroot, const std::string &unit)
{
    const auto any = [&](const auto &holds) {
        return std::any_of(unit_directories.begin(), unit_directories.end(), [&](std::string_view directory) {
            return holds(sysroot, std::string(directory), unit);
        });
    };
    return any(is_wanted) && !any(is_masked);
}

} // namespace ogh
