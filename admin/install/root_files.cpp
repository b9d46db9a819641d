// SPDX-License-Identifier: Apache-2.0
#include "install/root_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/error.h"
#include "base/file.h"
#include "base/path_names.h"
#include "base/text.h"
#include "kernel/openat2.h"

namespace ogh::admin {

namespace {

constexpr size_t max_file_size = size_t{64} << 20U; // an executable with all that is linked into it

SystemError root_error(const std::string &what, const std::string &path)
{
    return {errno, what + " " + quote(path), ErrorKind::BrokenHost};
}

} // namespace

RootFiles::RootFiles(const std::string &root) : root_(::open(root.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC))
{
    if (!root_.valid())
        throw root_error("cannot open the root", root);
}

std::optional<UniqueFd> RootFiles::find_folder(const std::string &path) const
{
    return find_path(root_.get(), path, O_PATH | O_DIRECTORY, Walk::InRoot, quote(path));
}

UniqueFd RootFiles::make_folder(const std::string &path) const
{
    if (auto there = find_folder(path))
        return std::move(*there);
    const UniqueFd above = make_folder(folder_of(path));
    constexpr mode_t mode = 0755;
    if (::mkdirat(above.get(), file_name_of(path).c_str(), mode) != 0)
        throw root_error("cannot make the folder", path);
    return open_path(above.get(), file_name_of(path), O_PATH | O_DIRECTORY, Walk::OneStep, quote(path));
}

PresentFile RootFiles::look(const std::string &path) const
{
    const auto folder = find_folder(folder_of(path));
    struct stat status {};
    if (!folder || ::fstatat(folder->get(), file_name_of(path).c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) {
        if (!folder || errno == ENOENT)
            return {};
        throw root_error("cannot look at", path);
    }
    if (!S_ISREG(status.st_mode))
        return {true, false, ""};
    const UniqueFd file = open_path(folder->get(), file_name_of(path), O_RDONLY, Walk::Beneath, quote(path));
    return {true, true, read_all(file.get(), max_file_size, quote(path))};
}

void RootFiles::put(const std::string &path, std::string_view text, mode_t mode) const
{
    const UniqueFd folder = make_folder(folder_of(path));
    const std::string temporary = file_name_of(path) + ".new";
    ::unlinkat(folder.get(), temporary.c_str(), 0);
    const UniqueFd file(::openat(folder.get(), temporary.c_str(),
                                 O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, S_IRUSR | S_IWUSR));
    if (!file.valid())
        throw root_error("cannot make a file for", path);
    try {
        write_all(file.get(), text, quote(path));
        if (::fchmod(file.get(), mode) != 0)
            throw root_error("cannot set the mode of", path);
        if (::renameat(folder.get(), temporary.c_str(), folder.get(), file_name_of(path).c_str()) != 0)
            throw root_error("cannot put in place", path);
    } catch (const Error &) {
        ::unlinkat(folder.get(), temporary.c_str(), 0);
        throw;
    }
}

void RootFiles::remove(const std::string &path) const
{
    const auto folder = find_folder(folder_of(path));
    if (folder && ::unlinkat(folder->get(), file_name_of(path).c_str(), 0) != 0 && errno != ENOENT)
        throw root_error("cannot remove", path);
}

void RootFiles::move(const std::string &path, const std::string &folder) const
{
    const auto from = find_folder(folder_of(path));
    const UniqueFd target = make_folder(folder);
    const std::string name = file_name_of(path);
    if (from && ::renameat(from->get(), name.c_str(), target.get(), name.c_str()) != 0 && errno != ENOENT)
        throw root_error("cannot move to " + quote(folder) + ":", path);
}

void RootFiles::remove_empty_folders(const std::string &path) const
{
    for (std::string folder = folder_of(path); folder != "/"; folder = folder_of(folder)) {
        const auto above = find_folder(folder_of(folder));
        if (above && ::unlinkat(above->get(), file_name_of(folder).c_str(), AT_REMOVEDIR) != 0 &&
            errno != ENOENT)
            return;
    }
}

} // namespace ogh::admin
