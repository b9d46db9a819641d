// SPDX-License-Identifier: Apache-2.0
#include "history/history.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <ctime>
#include <exception>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "base/path_names.h"
#include "base/root_file.h"
#include "base/text.h"
#include "base/utc_text.h"
#include "kernel/openat2.h"

namespace ogh {

namespace {

constexpr mode_t file_mode = 0600;

/** "." of the root. @param path absolute */
std::string relative(const std::string &path)
{
    return path == "/" ? "." : path.substr(1);
}

/** Not where the rest of a line has found no space. */
bool ends_in_a_line(int file)
{
    struct stat status {};
    char last = 0;
    return ::fstat(file, &status) != 0 || status.st_size == 0 ||
           ::pread(file, &last, 1, status.st_size - 1) != 1 || last == '\n';
}

} // namespace

History::History(const Sysroot &sysroot, std::string path, std::string hook)
    : path_(std::move(path)), hook_(std::move(hook))
{
    auto root = sysroot.find("/");
    if (!root)
        throw Error(ErrorKind::BrokenHost, "the host's root cannot be found");
    root_ = std::move(root->fd);
}

HistoryLine History::begin(std::string_view event) const
{
    HistoryLine line;
    line.add("time", utc_text(::time(nullptr)));
    line.add("event", event);
    line.add("hook", hook_);
    return line;
}

/** Makes what is missing of it: another hook may be doing the same at this moment. */
UniqueFd History::open_directory(const std::string &path) const
{
    const std::string what = "the directory " + quote(path) + " of the history";
    constexpr int flags = O_PATH | O_DIRECTORY;
    if (auto directory = find_path(root_.get(), relative(path), flags, Walk::Beneath, what))
        return std::move(*directory);
    const UniqueFd above = open_directory(directory_of(path));
    static_cast<void>(::mkdirat(above.get(), file_name_of(path).c_str(), 0755));
    return open_path(root_.get(), relative(path), flags, Walk::Beneath, what);
}

/** By one of those that see that it is too long; the others add to the one that was renamed. */
void History::rotate(int directory, int file) const
{
    const std::string name = file_name_of(path_);
    struct stat ours {};
    struct stat there {};
    if (::flock(file, LOCK_EX | LOCK_NB) != 0 || ::fstat(file, &ours) != 0 ||
        ::fstatat(directory, name.c_str(), &there, AT_SYMLINK_NOFOLLOW) != 0 || ours.st_ino != there.st_ino)
        return;
    if (::renameat(directory, name.c_str(), directory, (name + ".1").c_str()) != 0)
        throw SystemError(errno, "cannot rename the history " + quote(path_), ErrorKind::BrokenHost);
}

void History::write(const std::string &text) const
{
    const std::string what = "the history " + quote(path_);
    const UniqueFd directory = open_directory(directory_of(path_));
    const UniqueFd file(::openat(directory.get(), file_name_of(path_).c_str(),
                                 O_RDWR | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC,
                                 file_mode));
    if (!file.valid())
        throw SystemError(errno, "cannot open " + what, ErrorKind::BrokenHost);
    check_root_file(file.get(), file_mode, what);
    write_all(file.get(), ends_in_a_line(file.get()) ? text : "\n" + text, what);
    if (::lseek(file.get(), 0, SEEK_CUR) > static_cast<off_t>(max_history))
        rotate(directory.get(), file.get());
}

void History::add(HistoryLine line) noexcept
try {
    write(std::move(line).end());
} catch (const std::exception &error) {
    if (problem_.empty())
        problem_ = error.what();
}

} // namespace ogh
