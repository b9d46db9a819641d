// SPDX-License-Identifier: Apache-2.0
#include "install/root_files.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <memory>

#include "base/error.h"
#include "base/file.h"
#include "base/path_names.h"
#include "base/sha256.h"
#include "base/text.h"
#include "host/trusted_path.h"
#include "kernel/openat2.h"

namespace ogh::admin {

namespace {

constexpr size_t max_host_file = size_t{1} << 20U;
constexpr const char *state_directory = "/var/lib/oci-gpu-hooks";

SystemError failed(const std::string &what, const std::string &path)
{
    return {errno, what + " " + quote(path), ErrorKind::BrokenHost};
}

/** @param path of the directory to open, for messages */
std::optional<UniqueFd> open_step(int above, const std::string &name, const std::string &path)
{
    try {
        auto directory = find_path(above, name, O_PATH | O_DIRECTORY, Walk::NoSymlinks, quote(path));
        if (!directory)
            return directory;
        if (const std::string why = why_others_may_add(directory->get(), ::geteuid()); !why.empty())
            throw Error(ErrorKind::BrokenHost,
                        "the directory " + quote(path) + " " + why +
                            ", who says then what engines run as root; give it to root, with mode 0755");
        return directory;
    } catch (const SystemError &error) {
        if (error.error_number() != ELOOP)
            throw;
        throw Error(ErrorKind::BrokenHost,
                    quote(path) + " is a symlink, which is not followed: what it leads to may not be "
                                  "root's alone; have a directory in its place");
    }
}

void sync(int fd, const std::string &path)
{
    if (::fsync(fd) != 0 && errno != EINVAL) // EINVAL: a filesystem that cannot
        throw failed("cannot write to the disk:", path);
}

/** @param directory O_PATH */
void sync_directory(int directory, const std::string &path)
{
    const UniqueFd fd(::openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!fd.valid())
        throw failed("cannot open the directory", path);
    sync(fd.get(), path);
}

UniqueFd open_lock(int directory, const std::string &path)
{
    UniqueFd fd(::openat(directory, file_name_of(path).c_str(),
                         O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, S_IRUSR | S_IWUSR));
    struct stat status {};
    if (!fd.valid() || ::fstat(fd.get(), &status) != 0)
        throw failed("cannot open", path);
    if (!S_ISREG(status.st_mode) || status.st_uid != ::geteuid() || status.st_nlink != 1 ||
        (status.st_mode & (S_IRWXG | S_IRWXO)) != 0)
        throw Error(ErrorKind::BrokenHost,
                    quote(path) +
                        " is no plain file that only root can open, and so others may hold it: remove it");
    return fd;
}

} // namespace

RootFiles RootFiles::of_host(const Sysroot &sysroot)
{
    auto root = sysroot.find("/");
    return RootFiles(root ? std::move(root->fd) : UniqueFd());
}

void RootFiles::lock(bool waits)
{
    const std::string path = path_in(state_directory, "lock");
    UniqueFd fd = open_lock(make_directory(state_directory).get(), path);
    if (::flock(fd.get(), LOCK_EX | (waits ? 0 : LOCK_NB)) != 0) {
        if (errno != EWOULDBLOCK)
            throw failed("cannot lock", path);
        throw Error(ErrorKind::Busy, "another 'oci-gpu-hooks' is at work: install, uninstall, unwrap or key");
    }
    lock_ = std::move(fd);
    keep(); // the directory may stay
}

std::optional<UniqueFd> RootFiles::find_directory(const std::string &path) const
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

UniqueFd RootFiles::open_directory(const std::string &path) const
{
    auto directory = find_directory(path);
    if (!directory)
        throw Error(ErrorKind::BrokenHost, "the directory " + quote(path) + " has gone");
    return std::move(*directory);
}

UniqueFd RootFiles::make_directory(const std::string &path)
{
    if (auto there = find_directory(path))
        return std::move(*there);
    const auto above = std::make_shared<UniqueFd>(make_directory(directory_of(path)));
    const std::string name = file_name_of(path);
    constexpr mode_t mode = 0755;
    if (::mkdirat(above->get(), name.c_str(), mode) != 0)
        throw failed("cannot make the directory", path);
    undo_.add([above, name] { ::unlinkat(above->get(), name.c_str(), AT_REMOVEDIR); });
    sync_directory(above->get(), directory_of(path));
    return open_path(above->get(), name, O_PATH | O_DIRECTORY, Walk::OneStep, quote(path));
}

PresentFile RootFiles::look(const std::string &path) const
{
    const auto directory = find_directory(directory_of(path));
    const std::string name = file_name_of(path);
    struct stat status {};
    if (!directory || ::fstatat(directory->get(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) {
        if (!directory || errno == ENOENT)
            return {};
        throw failed("cannot look at", path);
    }
    if (!S_ISREG(status.st_mode))
        return {true, false, "", 0};
    const UniqueFd file =
        open_path(directory->get(), name, O_RDONLY | O_NONBLOCK, Walk::OneStep, quote(path));
    return {true, true, read_all(file.get(), max_host_file, quote(path)), status.st_mode & ALLPERMS};
}

void RootFiles::put(const std::string &path, std::string_view text, mode_t mode,
                    const std::string &aside) const
{
    const UniqueFd directory = open_directory(directory_of(path));
    const UniqueFd beside = open_directory(aside.empty() ? directory_of(path) : aside);
    // One name for each file, so that what an interrupted run has left goes with the next.
    const std::string temporary = "." + file_name_of(path) + ".oci-gpu-hooks";
    ::unlinkat(beside.get(), temporary.c_str(), 0);
    const UniqueFd file(::openat(beside.get(), temporary.c_str(),
                                 O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, S_IRUSR | S_IWUSR));
    if (!file.valid())
        throw failed("cannot make a file for", path);
    try {
        write_all(file.get(), text, quote(path));
        if (::fchmod(file.get(), mode) != 0)
            throw failed("cannot set the mode of", path);
        sync(file.get(), path);
        if (::lseek(file.get(), 0, SEEK_SET) != 0 || read_all(file.get(), text.size(), quote(path)) != text)
            throw Error(ErrorKind::BrokenHost,
                        "what was written for " + quote(path) + " is not what is there");
        if (::renameat(beside.get(), temporary.c_str(), directory.get(), file_name_of(path).c_str()) != 0)
            throw failed("cannot put in place", path);
    } catch (const Error &) {
        ::unlinkat(beside.get(), temporary.c_str(), 0);
        throw;
    }
    sync_directory(directory.get(), directory_of(path));
}

void RootFiles::unlink(const std::string &path) const
{
    const auto directory = find_directory(directory_of(path));
    if (!directory)
        return;
    if (::unlinkat(directory->get(), file_name_of(path).c_str(), 0) != 0 && errno != ENOENT)
        throw failed("cannot remove", path);
    sync_directory(directory->get(), directory_of(path));
}

void RootFiles::add_undo(const std::string &path, const PresentFile &before, const std::string &aside)
{
    undo_.add([files = this, before, path, aside] {
        try {
            if (before.is_plain)
                files->put(path, before.text, before.mode, aside);
            else
                files->unlink(path);
        } catch (const Error &) {
            return; // the error that led here says what is wrong with this host
        }
    });
}

void RootFiles::write(const std::string &path, std::string_view text, mode_t mode, const std::string &aside)
{
    const PresentFile before = look(path);
    static_cast<void>(make_directory(directory_of(path)));
    if (!aside.empty())
        static_cast<void>(make_directory(aside));
    add_undo(path, before, aside);
    put(path, text, mode, aside);
}

void RootFiles::replace_program(const std::string &path, std::string_view text, const std::string &kept) const
{
    const UniqueFd directory = open_directory(directory_of(path));
    if (!kept.empty() &&
        ::linkat(directory.get(), file_name_of(path).c_str(), directory.get(), file_name_of(kept).c_str(),
                 0) != 0 &&
        errno != EEXIST)
        throw failed("cannot keep a file as", kept);
    put(path, text, executable_mode, "");
}

void RootFiles::remove(const std::string &path)
{
    const PresentFile before = look(path);
    if (!before.is_plain)
        return;
    add_undo(path, before, "");
    unlink(path);
}

void RootFiles::remove_empty_directories(const std::string &path, const std::string &top) const
{
    for (std::string directory = directory_of(path); directory.starts_with(top);
         directory = directory_of(directory)) {
        const auto above = find_directory(directory_of(directory));
        if (above && ::unlinkat(above->get(), file_name_of(directory).c_str(), AT_REMOVEDIR) != 0 &&
            errno != ENOENT)
            return;
    }
}

PresentFile look_at(const RootFiles &root, const InstalledFile &file)
{
    PresentFile present = root.look(file.path);
    if (file.part.empty() || !present.is_plain)
        return present;
    const auto text = part_in(present.text, file.part);
    present.exists = present.is_plain = text.has_value();
    present.text = text.value_or("");
    return present;
}

bool is_as_written(const InstalledFile &file, const PresentFile &present)
{
    const std::string hash = present.is_plain ? sha256_of(present.text) : "";
    return !hash.empty() && (hash == file.hash || hash == file.before);
}

void write_part(RootFiles &root, const InstalledFile &file, const std::string &text)
{
    const PresentFile whole = root.look(file.path);
    root.write(file.path, with_part(whole.text, file.part, text), whole.mode);
}

void remove_written(RootFiles &root, const InstalledFile &file)
{
    if (file.part.empty())
        root.remove(file.path);
    else
        write_part(root, file, "");
}

void store(RootFiles &root, const Manifest &manifest, const std::string &path)
{
    if (manifest.files.empty())
        root.remove(path);
    else
        root.write(path, manifest.to_text());
}

} // namespace ogh::admin
