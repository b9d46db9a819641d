// SPDX-License-Identifier: Apache-2.0
#include "nvidia-devices/driver/driver_root.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>

#include "base/error.h"
#include "base/text.h"
#include "kernel/openat2.h"

namespace ogh::nvidia_devices {

namespace {

UniqueFd open_root(const Sysroot &sysroot)
{
    auto root = sysroot.find("/");
    if (!root)
        throw Error(ErrorKind::BrokenHost, quote(sysroot.on_host("/")) + " is no longer there");
    return std::move(root->fd);
}

/** Whether a path that cannot be followed is as good as none. */
bool is_out_of_reach(int error_number)
{
    return error_number == ENOTDIR || error_number == EACCES || error_number == ELOOP ||
           error_number == ENAMETOOLONG;
}

/** Whether the kernel names what is open so; its names are without symlinks. No if there is no /proc to ask. */
bool is_called(int fd, const std::string &path)
{
    std::array<char, PATH_MAX> name{};
    const std::string link = "/proc/self/fd/" + std::to_string(fd);
    const ssize_t length = ::readlink(link.c_str(), name.data(), name.size());
    return length > 0 && std::string_view(name.data(), static_cast<size_t>(length)) == path;
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

DriverRoot::DriverRoot(const Sysroot &sysroot) : sysroot_(sysroot), fd_(open_root(sysroot)) {}

std::optional<DriverEntry> DriverRoot::find(const std::string &path) const
try {
    auto fd = find_path(fd_.get(), path, O_PATH, Walk::InRoot, quote(on_host(path)));
    if (!fd)
        return std::nullopt;
    // Following each symlink, which tells the path without them, costs far more.
    auto place =
        is_called(fd->get(), on_host(path)) ? ResolvedPath{path, std::move(*fd)} : sysroot_.find(path);
    struct stat status {};
    if (!place)
        return std::nullopt;
    if (::fstat(place->fd.get(), &status) != 0)
        throw SystemError(errno, "cannot look at " + quote(on_host(path)), ErrorKind::BrokenHost);
    return DriverEntry{std::move(*place), status.st_mode};
} catch (const SystemError &error) {
    if (is_out_of_reach(error.error_number()))
        return std::nullopt;
    throw;
}

std::optional<DriverEntry> DriverRoot::find_file(const std::string &path) const
{
    auto entry = find(path);
    if (entry && !S_ISREG(entry->mode))
        return std::nullopt;
    return entry;
}

UniqueFd DriverRoot::open_file(const std::string &path) const
{
    return try_path(fd_.get(), path, O_RDONLY | O_NONBLOCK, Walk::InRoot);
}

bool is_plain_name(std::string_view name)
{
    constexpr std::string_view letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
    return name.find_first_not_of(std::string(letters) + "._+-") == std::string_view::npos &&
           name.find_first_of(letters) != std::string_view::npos;
}

} // namespace ogh::nvidia_devices
