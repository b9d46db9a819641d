// SPDX-License-Identifier: Apache-2.0
#include "mount-srv/inventory.h"

#include <dirent.h>

#include <set>
#include <utility>

#include "base/error.h"
#include "base/path_names.h"
#include "base/text.h"
#include "kernel/directory_entries.h"
#include "kernel/inode.h"

namespace ogh::mount_srv {

namespace {

using FileId = std::pair<dev_t, ino_t>;

FileId id_of(int fd, const std::string &what)
{
    const Inode inode = Inode::of(fd, what);
    return {inode.device, inode.number};
}

bool can_be_handed_out(const DirectoryEntry &entry)
{
    return entry.type == DT_DIR || entry.type == DT_REG || entry.type == DT_LNK;
}

/** Follows the symlinks of one source directory, and knows which directories containers may write. */
class Links final {
public:
    Links(const Sysroot &sysroot, const ResolvedPath &source, const std::vector<DirectoryEntry> &entries)
        : sysroot_(sysroot), source_(source)
    {
        for (const DirectoryEntry &entry : entries) {
            if (is_writable_name(entry.name))
                note_writable(entry.name);
        }
    }

    [[nodiscard]] Directory follow(const std::string &name) const
    {
        Directory directory{name, path(name), Kind::Directory, "", ErrorKind::None};
        try {
            const auto found = sysroot_.find(path(name), [&](int step) { refuse_writable(step); });
            if (!found)
                throw Error(ErrorKind::NotAvailable, "its symlink leads nowhere");
            const Inode inode = Inode::of(found->fd.get(), quote(name));
            if (!inode.is(Kind::Directory) && !inode.is(Kind::File))
                throw Error(ErrorKind::NotAvailable,
                            "its symlink leads to neither a directory nor a plain file");
            directory.kind = inode.is(Kind::Directory) ? Kind::Directory : Kind::File;
            directory.host_path = sysroot_.on_host(found->path);
        } catch (const Error &error) {
            directory.problem = error.what();
            directory.problem_kind = error.kind();
        }
        return directory;
    }

private:
    [[nodiscard]] std::string path(const std::string &name) const { return path_in(source_.path, name); }

    /** A writable entry may be a symlink itself: it is the directory behind it that containers write. */
    void note_writable(const std::string &name)
    {
        try {
            if (const auto found = sysroot_.find(path(name)))
                writable_.insert(id_of(found->fd.get(), quote(name)));
        } catch (const Error &) {
            return; // what cannot be followed cannot be led through either
        }
    }

    void refuse_writable(int directory) const
    {
        if (writable_.contains(id_of(directory, "a directory on the way")))
            throw Error(ErrorKind::BrokenHost,
                        "its symlink leads through a directory that containers may write, which could "
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
    std::vector<DirectoryEntry> entries =
        list_directory(source->fd.get(), {"the source directory " + quote(inventory.source_dir),
                                          [](std::string_view name) { return !name.starts_with('.'); }, 0,
                                          ErrorKind::BrokenHost});
    std::erase_if(entries, [](const DirectoryEntry &entry) { return !can_be_handed_out(entry); });
    const std::string parent = sysroot.on_host(source->path == "/" ? "" : source->path);
    std::optional<Links> links; // most source directories have none, and need no look at each writable entry
    for (const DirectoryEntry &entry : entries) {
        if (entry.type == DT_LNK) {
            if (!links)
                links.emplace(sysroot, *source, entries);
            inventory.directories.push_back(links->follow(entry.name));
        } else {
            const Kind kind = entry.type == DT_DIR ? Kind::Directory : Kind::File;
            inventory.directories.push_back(
                {entry.name, parent + "/" + entry.name, kind, "", ErrorKind::None});
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
