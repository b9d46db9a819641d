// SPDX-License-Identifier: Apache-2.0
#include "inventory.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <set>

#include "error.h"
#include "text.h"

namespace ogh::mount_srv {

namespace {

struct CloseDirectory {
    void operator()(DIR *directory) const { ::closedir(directory); }
};

struct Entry {
    std::string name;
    unsigned char type; ///< DT_*
};

using FileId = std::pair<dev_t, ino_t>;

struct stat status_of(int fd, const std::string &what)
{
    struct stat status {};
    if (::fstat(fd, &status) != 0)
        throw SystemError(errno, "cannot look at " + what);
    return status;
}

/** Filesystems may leave the type open; it is looked up then. */
unsigned char type_of(int dir, const dirent &entry)
{
    if (entry.d_type != DT_UNKNOWN)
        return entry.d_type;
    struct stat status {};
    if (::fstatat(dir, entry.d_name, &status, AT_SYMLINK_NOFOLLOW) != 0)
        return DT_UNKNOWN;
    return static_cast<unsigned char>(IFTODT(status.st_mode));
}

std::vector<Entry> list(int source, const std::string &what)
{
    UniqueFd fd(::openat(source, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    const std::unique_ptr<DIR, CloseDirectory> directory(fd.valid() ? ::fdopendir(fd.get()) : nullptr);
    if (directory == nullptr)
        throw SystemError(errno, "cannot list the source folder " + what, ExitCode::Host);
    const int listed = fd.release(); // `directory` closes it
    std::vector<Entry> entries;
    errno = 0;
    while (const dirent *entry = ::readdir(directory.get())) {
        const unsigned char type = type_of(listed, *entry);
        if (entry->d_name[0] != '.' && (type == DT_DIR || type == DT_REG || type == DT_LNK))
            entries.push_back({entry->d_name, type});
        errno = 0;
    }
    if (errno != 0)
        throw SystemError(errno, "cannot list the source folder " + what, ExitCode::Host);
    std::sort(entries.begin(), entries.end(), [](const Entry &a, const Entry &b) { return a.name < b.name; });
    return entries;
}

/** Follows the symlinks of one source folder, and knows which folders containers may write. */
class Links final {
public:
    Links(const Sysroot &sysroot, const HostPath &source, const std::vector<Entry> &entries)
        : sysroot_(sysroot), source_(source)
    {
        for (const Entry &entry : entries) {
            if (is_writable_name(entry.name))
                note_writable(entry.name);
        }
    }

    [[nodiscard]] Folder follow(const std::string &name) const
    {
        Folder folder{name, path(name), Kind::Directory, "", ExitCode::Success};
        try {
            const auto found = sysroot_.find(path(name), [&](int directory) { refuse_writable(directory); });
            if (!found)
                throw Error(ExitCode::NotAvailable, "its symlink leads nowhere");
            const mode_t mode = status_of(found->fd.get(), quote(name)).st_mode;
            if (!S_ISDIR(mode) && !S_ISREG(mode))
                throw Error(ExitCode::NotAvailable, "its symlink leads to neither a folder nor a plain file");
            folder.kind = S_ISDIR(mode) ? Kind::Directory : Kind::File;
            folder.host_path = sysroot_.on_host(found->path);
        } catch (const Error &error) {
            folder.problem = error.what();
            folder.problem_code = error.code();
        }
        return folder;
    }

private:
    [[nodiscard]] std::string path(const std::string &name) const
    {
        return source_.path == "/" ? "/" + name : source_.path + "/" + name;
    }

    /** A writable entry may be a symlink itself: it is the folder behind it that containers write. */
    void note_writable(const std::string &name)
    {
        try {
            if (const auto found = sysroot_.find(path(name))) {
                const struct stat status = status_of(found->fd.get(), quote(name));
                writable_.insert({status.st_dev, status.st_ino});
            }
        } catch (const Error &) {
            return; // what cannot be followed cannot be led through either
        }
    }

    void refuse_writable(int directory) const
    {
        const struct stat status = status_of(directory, "a folder on the way");
        if (writable_.contains({status.st_dev, status.st_ino}))
            throw Error(ExitCode::Host,
                        "its symlink leads through a folder that containers may write, which could "
                        "point it at anything");
    }

    const Sysroot &sysroot_;
    const HostPath &source_;
    std::set<FileId> writable_;
};

} // namespace

bool is_writable_name(const std::string &name)
{
    return name.find("_writable") != std::string::npos || name.ends_with("_rw");
}

Inventory read_inventory(const Sysroot &sysroot, const std::string &source_dir)
{
    Inventory inventory{sysroot.on_host(source_dir), false, {}};
    const auto source = sysroot.find(source_dir);
    if (!source)
        return inventory;
    inventory.exists = true;
    const std::vector<Entry> entries = list(source->fd.get(), quote(inventory.source_dir));
    const std::string parent = sysroot.on_host(source->path == "/" ? "" : source->path);
    std::optional<Links> links; // most source folders have none, and need no look at each writable entry
    for (const Entry &entry : entries) {
        if (entry.type == DT_LNK) {
            if (!links)
                links.emplace(sysroot, *source, entries);
            inventory.folders.push_back(links->follow(entry.name));
        } else {
            const Kind kind = entry.type == DT_DIR ? Kind::Directory : Kind::File;
            inventory.folders.push_back({entry.name, parent + "/" + entry.name, kind, "", ExitCode::Success});
        }
    }
    return inventory;
}

} // namespace ogh::mount_srv
