// SPDX-License-Identifier: Apache-2.0
#include "base/file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>

#include "base/error.h"
#include "base/text.h"

namespace ogh {

void check_root_file(int fd, mode_t most, const std::string &what)
{
    constexpr mode_t permissions = 07777;
    struct stat status {};
    if (::fstat(fd, &status) != 0)
        throw SystemError(errno, "cannot look at " + what, ErrorKind::BrokenHost);
    const auto refuse_if = [&](bool bad, const char *why) {
        if (bad)
            throw Error(ErrorKind::BrokenHost, what + " " + why);
    };
    const mode_t mode = status.st_mode & permissions;
    refuse_if(!S_ISREG(status.st_mode), "is no plain file");
    refuse_if(status.st_uid != ::geteuid(), "does not belong to root");
    if ((mode & ~most) != 0)
        throw Error(ErrorKind::BrokenHost, what + " has mode " + mode_text(mode) +
                                               ", and must not have more than " + mode_text(most));
    refuse_if(status.st_nlink != 1, "has more than one name");
}

std::string read_all(int fd, size_t limit, const std::string &what, size_t expected)
{
    const size_t chunk = expected + 1; // one more: the end is seen without making room again
    std::string text;
    size_t used = 0;
    for (;;) {
        // One byte beyond the limit tells "just fits" from "too long".
        if (used == text.size())
            text.resize(std::min(used + std::max(chunk, used), limit + 1));
        const ssize_t got = ::read(fd, text.data() + used, text.size() - used);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            throw SystemError(errno, "cannot read " + what);
        used += static_cast<size_t>(got);
        if (got == 0)
            break;
        if (used > limit)
            throw Error(ErrorKind::Failure, what + " is larger than " + std::to_string(limit) + " bytes");
    }
    text.resize(used);
    return text;
}

void write_all(int fd, std::string_view content, const std::string &what)
{
    while (!content.empty()) {
        const ssize_t written = ::write(fd, content.data(), content.size());
        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0)
            throw SystemError(errno, "cannot write " + what);
        content.remove_prefix(static_cast<size_t>(written));
    }
}

std::string read_link(int directory, const std::string &path, const std::string &what)
{
    std::array<char, PATH_MAX> target{};
    const ssize_t length = ::readlinkat(directory, path.c_str(), target.data(), target.size());
    if (length < 0)
        throw SystemError(errno, "cannot read the symlink " + what, ErrorKind::BrokenHost);
    return {target.data(), static_cast<size_t>(length)};
}

} // namespace ogh
