// SPDX-License-Identifier: Apache-2.0
#include "base/root_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/error.h"
#include "base/mode_text.h"

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

} // namespace ogh
