// SPDX-License-Identifier: Apache-2.0
#include "engines/host_copy.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "base/error.h"
#include "base/text.h"
#include "base/unique_fd.h"

namespace ogh::admin {

namespace {

UniqueFd open_file(const Sysroot &sysroot, const ResolvedPath &place)
{
    const size_t slash = place.path.rfind('/');
    const auto folder = sysroot.find(place.path.substr(0, slash));
    UniqueFd fd(folder ? ::openat(folder->fd.get(), place.path.c_str() + slash + 1,
                                  O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
                       : -1);
    struct stat status {};
    if (!fd.valid() || ::fstat(fd.get(), &status) != 0)
        throw SystemError(errno, "cannot read " + quote(place.path), ExitCode::Host);
    if (!S_ISREG(status.st_mode))
        throw Error(ExitCode::Host, quote(place.path) + " is no plain file");
    return fd;
}

bool have_same_bytes(int one, int other)
{
    std::array<char, 65536> left{};
    std::array<char, 65536> right{};
    for (off_t at = 0;;) {
        const ssize_t length = ::pread(one, left.data(), left.size(), at);
        const ssize_t other_length = ::pread(other, right.data(), right.size(), at);
        if (length < 0 || length != other_length)
            return false;
        if (length == 0)
            return true;
        if (!std::equal(left.begin(), left.begin() + length, right.begin()))
            return false;
        at += length;
    }
}

} // namespace

std::optional<HostCopy> find_host_copy(const Engine &engine, const HookFile &file)
{
    const auto theirs = engine.sysroot->find(file.executable);
    const std::string executable(file.ours->executable);
    const auto own = engine.host->find(executable);
    if (!theirs || !own)
        return std::nullopt;
    return HostCopy{executable, have_same_bytes(open_file(*engine.sysroot, *theirs).get(),
                                                open_file(*engine.host, *own).get())};
}

} // namespace ogh::admin
