// SPDX-License-Identifier: Apache-2.0
#include "nvidia-devices/driver/driver_root.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>

#include "base/error.h"
#include "base/text.h"

namespace ogh::nvidia_devices {

namespace {

/** Whether a path that cannot be followed is as good as none. */
bool is_out_of_reach(int error_number)
{
    return error_number == ENOTDIR || error_number == EACCES || error_number == ELOOP ||
           error_number == ENAMETOOLONG;
}

} // namespace

Sysroot open_driver_root(const DriverPlaces &places)
{
    const std::string &path = places.root;
    if (!path.starts_with('/'))
        throw Error(ErrorKind::Usage, "--driver-root needs an absolute path, not " + quote(path));
    const auto found = places.sysroot.find(path);
    struct stat status {};
    if (!found || ::fstat(found->fd.get(), &status) != 0 || !S_ISDIR(status.st_mode))
        throw Error(ErrorKind::BrokenHost, "--driver-root " + quote(path) + " is no directory of this host");
    return Sysroot(places.sysroot.on_host(found->path));
}

std::optional<DriverEntry> find_entry(const Sysroot &root, const std::string &path)
try {
    auto place = root.find(path);
    struct stat status {};
    if (!place)
        return std::nullopt;
    if (::fstat(place->fd.get(), &status) != 0)
        throw SystemError(errno, "cannot look at " + quote(root.on_host(path)), ErrorKind::BrokenHost);
    return DriverEntry{std::move(*place), status.st_mode};
} catch (const SystemError &error) {
    if (is_out_of_reach(error.error_number()))
        return std::nullopt;
    throw;
}

std::optional<DriverEntry> find_file(const Sysroot &root, const std::string &path)
{
    auto entry = find_entry(root, path);
    return entry && S_ISREG(entry->mode) ? std::move(entry) : std::nullopt;
}

bool is_plain_name(std::string_view name)
{
    constexpr std::string_view letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
    return name.find_first_not_of(std::string(letters) + "._+-") == std::string_view::npos &&
           name.find_first_of(letters) != std::string_view::npos;
}

} // namespace ogh::nvidia_devices
