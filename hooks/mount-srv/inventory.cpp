// SPDX-License-Identifier: Apache-2.0
#include "mount-srv/inventory.h"

#include <dirent.h>
#include <sys/stat.h>

#include <cerrno>
#include <set>

#include "base/error.h"
#include "base/path_names.h"
#include "base/text.h"
#include "kernel/folder_entries.h"

namespace ogh::mount_srv {

namespace {

using FileId = std::pair<dev_t, ino_t>;

struct stat status_of(int fd, const std::string &what)
{
    struct stat status {};
    if (::fstat(fd, &status) != 0)
        throw SystemError(errno, "cannot look at " + what);
    return status;
}

bool can_be_handed_out(const FolderEntry &entry)
{
    return entry.type == DT_DIR || entry.type == DT_REG || entry.type == DT_LNK;
}

/** Follows the symlinks of one source folder, and knows which folders containers may write. */
class Links final {
public:
    Links(const Sysroot &sysroot, const ResolvedPath &source, const std::vector<FolderEntry> &entries)
        : sysroot_(sysroot), source_(source)
    {
        for (const FolderEntry &entry : entries) {
            if (is_writable_name(entry.name))
                note_writable(entry.name);
        }
    }

    [[nodiscard]] Folder follow(const std::string &name) const
    {
        Folder folder{name, path(name), Kind::Directory, "", ErrorKind::None};
        try {
            const auto found = sysroot_.find(path(name), [&](int directory) { refuse_writable(directory); });
            if (!found)
                throw Error(ErrorKind::NotAvailable, "its symlink leads nowhere");
            const mode_t mode = status_of(found->fd.get(), quote(name)).st_mode;
            if (!S_ISDIR(mode) && !S_ISREG(mode))
                throw Error(ErrorKind::NotAvailable,
                            "its symlink leads to neither a folder nor a plain file");
            folder.kind = S_ISDIR(mode) ? Kind::Directory : Kind::File;
            folder.host_path = sysroot_.on_host(found->path);
        } catch (const Error &error) {
            folder.problem = error.what();
            folder.problem_kind = error.kind();
        }
        return folder;
    }

private:
    [[nodiscard]] std::string path(const std::string &name) const { return path_in(source_.path, name); }

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
            throw Error(ErrorKind::BrokenHost,
                        "its symlink leads through a folder that containers may write, which could "
                        "point it at anything");
    }

    const Sysroot &sysroot_;
    const ResolvedPath &source_;
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
    std::vector<FolderEntry> entries =
        list_folder(source->fd.get(),
                    {"the source folder " + quote(inventory.source_dir),
                     [](std::string_view name) { return !name.starts_with('.'); }, 0, ErrorKind::BrokenHost});
    std::erase_if(entries, [](const FolderEntry &entry) { return !can_be_handed_out(entry); });
    const std::string parent = sysroot.on_host(source->path == "/" ? "" : source->path);
    std::optional<Links> links; // most source folders have none, and need no look at each writable entry
    for (const FolderEntry &entry : entries) {
        if (entry.type == DT_LNK) {
            if (!links)
                links.emplace(sysroot, *source, entries);
            inventory.folders.push_back(links->follow(entry.name));
        } else {
            const Kind kind = entry.type == DT_DIR ? Kind::Directory : Kind::File;
            inventory.folders.push_back({entry.name, parent + "/" + entry.name, kind, "", ErrorKind::None});
        }
    }
    return inventory;
}

void require_source(const Inventory &inventory)
{
    if (!inventory.exists)
        throw Error(ErrorKind::NotAvailable, "this host has no " + quote(inventory.source_dir));
}

} // namespace ogh::mount_srv
