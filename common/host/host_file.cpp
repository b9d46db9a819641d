// SPDX-License-Identifier: Apache-2.0
#include "host/host_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <string_view>

#include "base/error.h"
#include "base/file.h"
#include "base/path_names.h"
#include "base/text.h"

namespace ogh {

std::optional<std::string> read_file_in(int directory, const std::string &path, size_t limit,
                                        const std::string &what)
{
    // Not blocking: a FIFO in a tree made by hand must not hold up the start of a container.
    const UniqueFd fd(::openat(directory, path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    if (!fd.valid() && errno == ENOENT)
        return std::nullopt;
    struct stat status {};
    if (!fd.valid() || ::fstat(fd.get(), &status) != 0)
        throw SystemError(errno, "cannot read " + what, ErrorKind::BrokenHost);
    if (!S_ISREG(status.st_mode))
        throw Error(ErrorKind::BrokenHost, "cannot read " + what + ": it is no plain file");
    try {
        return read_all(fd.get(), limit, what);
    } catch (const Error &error) {
        throw error.as(ErrorKind::BrokenHost);
    }
}

std::optional<std::string> read_host_file(const Sysroot &sysroot, const std::string &path, size_t limit)
{
    const auto directory = sysroot.find(directory_of(path));
    if (!directory)
        return std::nullopt;
    return read_file_in(directory->fd.get(), file_name_of(path), limit, quote(sysroot.on_host(path)));
}

UniqueFd open_host_file(const Sysroot &sysroot, const ResolvedPath &place)
{
    const auto directory = sysroot.find(directory_of(place.path));
    return directory ? UniqueFd(::openat(directory->fd.get(), file_name_of(place.path).c_str(),
                                         O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC))
                     : UniqueFd();
}

std::string linked_name(int directory, const std::string &path)
{
    std::array<char, PATH_MAX> target{};
    const ssize_t size = ::readlinkat(directory, path.c_str(), target.data(), target.size());
    const std::string_view text(target.data(), size < 0 ? 0 : static_cast<size_t>(size));
    return std::string(text.substr(text.rfind('/') + 1)); // npos + 1 is 0
}

} // namespace ogh
