// SPDX-License-Identifier: Apache-2.0
#include "kernel/openat2.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <linux/openat2.h>

#include <cerrno>

#include "base/error.h"

namespace ogh {

namespace {

/** A rename storm elsewhere makes single calls fail; libpathrs measured that 128 tries always suffice. */
constexpr int max_tries = 128;

std::uint64_t resolve_flags(Walk walk)
{
    switch (walk) {
    case Walk::InRoot:
        return RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS;
    case Walk::NoSymlinks:
        return RESOLVE_NO_SYMLINKS;
    case Walk::Beneath:
        return RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS;
    case Walk::OneStep:
        break;
    }
    return RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV;
}

SystemError failure(int error_number, const std::string &what)
{
    if (error_number == ENOSYS || error_number == EPERM)
        return {error_number, "openat2 is refused by the kernel or a seccomp filter (Linux 5.12 is needed)",
                ErrorKind::BrokenHost};
    return {error_number, "cannot open " + what};
}

} // namespace

std::optional<UniqueFd> find_path(int dir, const std::string &path, int flags, Walk walk,
                                  const std::string &what)
{
    open_how how{};
    how.flags = static_cast<unsigned>(flags | O_CLOEXEC);
    if ((flags & O_PATH) == 0)
        how.flags |= O_NOCTTY | O_NONBLOCK; // FIFOs and terminals must not hang or take us over
    how.resolve = resolve_flags(walk);
    for (int tries = 1;; ++tries) {
        const long fd = ::syscall(SYS_openat2, dir, path.c_str(), &how, sizeof how);
        if (fd >= 0)
            return UniqueFd(static_cast<int>(fd));
        if (errno == ENOENT)
            return std::nullopt;
        if (errno != EINTR && (errno != EAGAIN || tries >= max_tries))
            throw failure(errno, what);
    }
}

UniqueFd open_path(int dir, const std::string &path, int flags, Walk walk, const std::string &what)
{
    auto fd = find_path(dir, path, flags, walk, what);
    if (!fd)
        throw SystemError(ENOENT, "cannot open " + what);
    return std::move(*fd);
}

} // namespace ogh
