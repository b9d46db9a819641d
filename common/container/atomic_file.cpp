// SPDX-License-Identifier: Apache-2.0
#include "container/atomic_file.h"

#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstdio>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "base/unique_fd.h"

namespace ogh {

namespace {

std::string random_name()
{
    unsigned long long number = 0;
    if (::getrandom(&number, sizeof number, 0) != sizeof number)
        throw SystemError(errno, "cannot get a random name");
    std::array<char, 40> name{};
    std::snprintf(name.data(), name.size(), ".oci-gpu-hooks-%016llx", number);
    return name.data();
}

int rename_in(int folder, const std::string &from, const std::string &to, unsigned flags)
{
    return ::renameat2(folder, from.c_str(), folder, to.c_str(), flags) == 0 ? 0 : errno;
}

} // namespace

AtomicFile::AtomicFile(int folder, std::string_view content, mode_t mode,
                       const std::optional<FsCredentials> &owner, std::string path)
    : folder_(folder), owner_(owner), path_(std::move(path)), temporary_(random_name())
{
    UniqueFd fd;
    const auto make = [&] {
        constexpr int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
        fd = UniqueFd(::openat(folder_, temporary_.c_str(), flags, mode));
        return fd.valid() ? 0 : errno;
    };
    const auto [error, by_self] = act_for(owner_, make);
    if (error != 0)
        throw SystemError(error, "cannot make a file for " + quote(path_) + " in the container");
    try {
        if (by_self && ::fchown(fd.get(), owner_->uid, owner_->gid) != 0)
            throw SystemError(errno, "cannot give " + quote(path_) + " to the container's root");
        write_all(fd.get(), content, quote(path_) + " in the container");
    } catch (const Error &) {
        ::unlinkat(folder_, temporary_.c_str(), 0);
        throw;
    }
}

AtomicFile::AtomicFile(int folder, const Make &make, const std::optional<FsCredentials> &owner,
                       std::string path)
    : folder_(folder), owner_(owner), path_(std::move(path)), temporary_(random_name())
{
    const auto [error, by_self] = act_for(owner_, [&] { return make(folder_, temporary_); });
    if (error != 0)
        throw SystemError(error, "cannot make " + quote(path_) + " in the container");
    if (by_self &&
        ::fchownat(folder_, temporary_.c_str(), owner_->uid, owner_->gid, AT_SYMLINK_NOFOLLOW) != 0) {
        const int chown_error = errno;
        ::unlinkat(folder_, temporary_.c_str(), 0);
        throw SystemError(chown_error, "cannot give " + quote(path_) + " to the container's root");
    }
}

AtomicFile::~AtomicFile()
{
    if (!temporary_.empty())
        ::unlinkat(folder_, temporary_.c_str(), 0);
}

bool AtomicFile::commit(const std::string &name)
{
    const auto attempt = [&](unsigned flags) {
        return act_for(owner_, [&] { return rename_in(folder_, temporary_, name, flags); }).error;
    };
    int error = attempt(RENAME_NOREPLACE);
    const bool is_new = error == 0;
    if (error == EEXIST || error == EINVAL) // EINVAL: a filesystem that does not know the flag
        error = attempt(0);
    if (error != 0)
        throw SystemError(error, "cannot replace " + quote(path_) + " in the container");
    temporary_.clear();
    return is_new;
}

} // namespace ogh
