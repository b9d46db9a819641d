// SPDX-License-Identifier: Apache-2.0
#include "install/host_writer.h"

#include <fcntl.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <functional>
#include <memory>

#include "base/error.h"
#include "base/file.h"
#include "base/path_names.h"
#include "base/text.h"
#include "host/root_alone.h"
#include "install/install_lock.h"
#include "kernel/openat2.h"

namespace ogh::admin {

namespace {

constexpr size_t max_size = size_t{1} << 20U;
constexpr const char *state_folder = "/var/lib/oci-gpu-hooks";

SystemError failed(const std::string &what, const std::string &path)
{
    return {errno, what + " " + quote(path), ErrorKind::BrokenHost};
}

/** One name for each file, so that what an interrupted run has left goes with the next. */
std::string name_on_the_way(const std::string &path)
{
    return "." + file_name_of(path) + ".oci-gpu-hooks";
}

void check_folder(int fd, const std::string &path)
{
    if (const std::string why = why_others_may_add(fd, ::geteuid()); !why.empty())
        throw Error(ErrorKind::BrokenHost,
                    "the folder " + quote(path) + " " + why +
                        ", who says then what engines run as root; give it to root, with mode 0755");
}

/** @param path of the folder to open, for messages */
std::optional<UniqueFd> open_step(int above, const std::string &name, const std::string &path)
{
    try {
        auto folder = find_path(above, name, O_PATH | O_DIRECTORY, Walk::NoSymlinks, quote(path));
        if (folder)
            check_folder(folder->get(), path);
        return folder;
    } catch (const SystemError &error) {
        if (error.error_number() != ELOOP)
            throw;
        throw Error(ErrorKind::BrokenHost,
                    quote(path) + " is a symlink, which is not followed: what it leads to may not be "
                                  "root's alone; have a folder in its place");
    }
}

void sync(int fd, const std::string &path)
{
    if (::fsync(fd) != 0 && errno != EINVAL) // EINVAL: a filesystem that cannot
        throw failed("cannot write to the disk:", path);
}

/** For what is opened by O_PATH. */
UniqueFd reopened(int folder, const std::string &path)
{
    UniqueFd fd(::openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!fd.valid())
        throw failed("cannot open the folder", path);
    return fd;
}

/** Puts a new file in `folder`, which `fill` writes; until it is whole it lies in `aside`. */
void put_filled(int folder, int aside, const std::string &path, mode_t mode,
                const std::function<void(int file)> &fill)
{
    const std::string temporary = name_on_the_way(path);
    ::unlinkat(aside, temporary.c_str(), 0);
    const UniqueFd file(::openat(aside, temporary.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                                 S_IRUSR | S_IWUSR));
    if (!file.valid())
        throw failed("cannot make a file for", path);
    try {
        fill(file.get());
        if (::fchmod(file.get(), mode) != 0)
            throw failed("cannot set the mode of", path);
        sync(file.get(), path);
        if (::renameat(aside, temporary.c_str(), folder, file_name_of(path).c_str()) != 0)
            throw failed("cannot put in place", path);
    } catch (const Error &) {
        ::unlinkat(aside, temporary.c_str(), 0);
        throw;
    }
    sync(reopened(folder, folder_of(path)).get(), folder_of(path));
}

/** Gives the file in `folder` this text. */
void put(int folder, int aside, const std::string &path, std::string_view text)
{
    constexpr mode_t mode = 0644;
    put_filled(folder, aside, path, mode, [&](int file) { write_all(file, text, quote(path)); });
}

/** Writes what a file has, and reads it again. */
void fill_with(int source, const std::string &source_path, int file, const std::string &path)
{
    constexpr size_t most = 0x7ffff000; // sendfile(2)
    off_t offset = 0;
    for (ssize_t sent = 1; sent != 0;) {
        sent = ::sendfile(file, source, &offset, most);
        if (sent < 0)
            throw failed("cannot write", path);
    }
    sync(file, path);
    if (!have_same_content(source, file, quote_list({source_path, path})))
        throw Error(ErrorKind::BrokenHost, "what was written for " + quote(path) +
                                               " is not what was read from " + quote(source_path));
}

} // namespace

HostWriter::HostWriter(const Sysroot &sysroot)
{
    if (auto root = sysroot.find("/"))
        root_ = std::move(root->fd);
}

void HostWriter::lock()
{
    lock_ = take_install_lock(make_folder(state_folder).get(), state_folder);
    keep(); // the folder may stay
}

std::optional<UniqueFd> HostWriter::open_folder(const std::string &path) const
{
    UniqueFd here(::openat(root_.get(), ".", O_PATH | O_DIRECTORY | O_CLOEXEC));
    for (size_t end = 0; end != std::string::npos && path != "/";) {
        const size_t begin = end + 1;
        end = path.find('/', begin);
        auto next = open_step(here.get(), path.substr(begin, end - begin), path.substr(0, end));
        if (!next)
            return std::nullopt;
        here = std::move(*next);
    }
    return here;
}

UniqueFd HostWriter::make_folder(const std::string &path)
{
    if (auto there = open_folder(path))
        return std::move(*there);
    const UniqueFd above = make_folder(folder_of(path));
    const std::string name = file_name_of(path);
    constexpr mode_t mode = 0755;
    if (::mkdirat(above.get(), name.c_str(), mode) != 0)
        throw failed("cannot make the folder", path);
    const auto shared = std::make_shared<UniqueFd>(::openat(above.get(), ".", O_PATH | O_CLOEXEC));
    undo_.add([shared, name] { ::unlinkat(shared->get(), name.c_str(), AT_REMOVEDIR); });
    if (::fchmodat(above.get(), name.c_str(), mode, 0) != 0) // whatever the umask is
        throw failed("cannot set the mode of", path);
    sync(reopened(above.get(), folder_of(path)).get(), folder_of(path));
    auto made = open_folder(path);
    if (!made)
        throw Error(ErrorKind::BrokenHost, "the folder " + quote(path) + " went away as soon as it was made");
    return std::move(*made);
}

PresentFile HostWriter::look(const std::string &path) const
{
    const auto folder = open_folder(folder_of(path));
    if (!folder)
        return {};
    struct stat status {};
    if (::fstatat(folder->get(), file_name_of(path).c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) {
        if (errno == ENOENT)
            return {};
        throw failed("cannot look at", path);
    }
    if (!S_ISREG(status.st_mode))
        return {true, false, ""};
    const UniqueFd file =
        open_path(folder->get(), file_name_of(path), O_RDONLY | O_NONBLOCK, Walk::OneStep, quote(path));
    return {true, true, read_all(file.get(), max_size, quote(path))};
}

void HostWriter::replace(const std::string &path, std::string_view text, const std::string &way) const
{
    const auto folder = open_folder(folder_of(path));
    const auto aside = open_folder(way);
    if (!folder || !aside)
        throw Error(ErrorKind::BrokenHost, "the folder " + quote(folder_of(path)) + " has gone");
    put(folder->get(), aside->get(), path, text);
}

void HostWriter::unlink(const std::string &path) const
{
    const auto folder = open_folder(folder_of(path));
    if (!folder)
        return;
    if (::unlinkat(folder->get(), file_name_of(path).c_str(), 0) != 0 && errno != ENOENT)
        throw failed("cannot remove", path);
    sync(reopened(folder->get(), folder_of(path)).get(), folder_of(path));
}

void HostWriter::write(const std::string &path, std::string_view text, const std::string &way)
{
    const PresentFile before = look(path);
    const UniqueFd folder = make_folder(folder_of(path));
    const UniqueFd aside = make_folder(way);
    undo_.add([this, before, path, way] {
        try {
            if (before.is_plain)
                replace(path, before.text, way);
            else
                unlink(path);
        } catch (const Error &) {
            return; // the error that led here says what is wrong with this host
        }
    });
    put(folder.get(), aside.get(), path, text);
}

void HostWriter::copy(const std::string &source_path, int source, const std::string &path,
                      const std::string &kept) const
{
    const auto folder = open_folder(folder_of(path));
    if (!folder)
        throw Error(ErrorKind::BrokenHost, "the folder " + quote(folder_of(path)) + " has gone");
    if (!kept.empty() &&
        ::linkat(folder->get(), file_name_of(path).c_str(), folder->get(), file_name_of(kept).c_str(), 0) !=
            0 &&
        errno != EEXIST)
        throw failed("cannot keep a file as", kept);
    constexpr mode_t mode = 0755;
    put_filled(folder->get(), folder->get(), path, mode,
               [&](int file) { fill_with(source, source_path, file, path); });
}

void HostWriter::remove(const std::string &path)
{
    const PresentFile before = look(path);
    if (!before.is_plain)
        return;
    undo_.add([this, before, path] {
        try {
            replace(path, before.text, folder_of(path));
        } catch (const Error &) {
            return;
        }
    });
    unlink(path);
}

} // namespace ogh::admin
