// SPDX-License-Identifier: Apache-2.0
#include "container/atomic_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "base/unique_fd.h"
#include "edits/inner_path.h"

namespace ogh {

namespace {

std::string temporary_name(const std::string &name)
{
    return InnerPath{"", name}.temporary().name;
}

/** An image may have anything of that name; a directory would not be one of ours, and may have something in it. */
bool is_left_by_run(const struct stat &status, const std::optional<FsCredentials> &owner)
{
    return !S_ISDIR(status.st_mode) &&
           (status.st_uid == ::geteuid() || (owner && status.st_uid == owner->uid));
}

} // namespace

AtomicFile::AtomicFile(AtomicPlace place, std::string_view content, mode_t mode)
    : place_(std::move(place)), temporary_(temporary_name(place_.name))
{
    UniqueFd fd;
    const auto make = [&] {
        constexpr int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
        fd = UniqueFd(::openat(place_.directory, temporary_.c_str(), flags, mode));
        return fd.valid() ? 0 : errno;
    };
    const auto [error, by_self] = make_new(make);
    if (error != 0)
        throw SystemError(error, "cannot make a file for " + quote(place_.path) + " in the container");
    try {
        if (by_self && ::fchown(fd.get(), place_.owner->uid, place_.owner->gid) != 0)
            throw SystemError(errno, "cannot give " + quote(place_.path) + " to the container's root");
        write_all(fd.get(), content, quote(place_.path) + " in the container");
    } catch (const Error &) {
        ::unlinkat(place_.directory, temporary_.c_str(), 0);
        throw;
    }
}

AtomicFile::AtomicFile(AtomicPlace place, const Make &make)
    : place_(std::move(place)), temporary_(temporary_name(place_.name))
{
    const auto [error, by_self] = make_new([&] { return make(place_.directory, temporary_); });
    if (error != 0)
        throw SystemError(error, "cannot make " + quote(place_.path) + " in the container");
    if (by_self && ::fchownat(place_.directory, temporary_.c_str(), place_.owner->uid, place_.owner->gid,
                              AT_SYMLINK_NOFOLLOW) != 0) {
        const int chown_error = errno;
        ::unlinkat(place_.directory, temporary_.c_str(), 0);
        throw SystemError(chown_error, "cannot give " + quote(place_.path) + " to the container's root");
    }
}

AtomicFile::~AtomicFile()
{
    discard();
}

void AtomicFile::discard() noexcept
{
    if (!temporary_.empty())
        ::unlinkat(place_.directory, temporary_.c_str(), 0);
    temporary_.clear();
}

Acted AtomicFile::make_new(const std::function<int()> &make) const
{
    const Acted made = act_for(place_.owner, make);
    if (made.error != EEXIST)
        return made;
    if (!remove_leftover(place_))
        throw Error(ErrorKind::HostileContainer, "cannot make " + quote(place_.path) +
                                                     " in the container: " + quote(temporary_) +
                                                     " beside it is none that a hook has left");
    return act_for(place_.owner, make);
}

bool AtomicFile::has_leftover(const AtomicPlace &place)
{
    struct stat there {};
    return ::fstatat(place.directory, temporary_name(place.name).c_str(), &there, AT_SYMLINK_NOFOLLOW) == 0;
}

bool AtomicFile::remove_leftover(const AtomicPlace &place)
{
    const std::string name = temporary_name(place.name);
    struct stat there {};
    if (::fstatat(place.directory, name.c_str(), &there, AT_SYMLINK_NOFOLLOW) != 0)
        return true; // it is gone
    if (!is_left_by_run(there, place.owner))
        return false;
    const auto remove = [&] { return ::unlinkat(place.directory, name.c_str(), 0) == 0 ? 0 : errno; };
    if (const int error = act_for(place.owner, remove).error; error != 0 && error != ENOENT)
        throw SystemError(error, "cannot remove " + quote(name) + " beside " + quote(place.path) +
                                     " in the container");
    return true;
}

int AtomicFile::rename(unsigned flags) const
{
    const auto attempt = [&] {
        return ::renameat2(place_.directory, temporary_.c_str(), place_.directory, place_.name.c_str(),
                           flags) == 0
                   ? 0
                   : errno;
    };
    return act_for(place_.owner, attempt).error;
}

bool AtomicFile::exchange()
{
    int error = rename(RENAME_NOREPLACE);
    if (error == EEXIST && rename(RENAME_EXCHANGE) == 0) {
        struct stat there {};
        if (::fstatat(place_.directory, temporary_.c_str(), &there, AT_SYMLINK_NOFOLLOW) != 0 ||
            !S_ISDIR(there.st_mode))
            return false;
        change_back(); // the kernel exchanges a file for a directory, too
        error = EISDIR;
    }
    if (error == EEXIST || error == EINVAL) // EINVAL: a filesystem that does not know the flag
        error = rename(0);
    if (error != 0)
        throw SystemError(error, "cannot replace " + quote(place_.path) + " in the container");
    temporary_.clear();
    return true;
}

void AtomicFile::change_back() noexcept
{
    static_cast<void>(rename(RENAME_EXCHANGE));
}

} // namespace ogh
