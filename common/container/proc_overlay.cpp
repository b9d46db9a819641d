// SPDX-License-Identifier: Apache-2.0
#include "container/proc_overlay.h"

#include <fcntl.h>
#include <sys/mount.h>

#include <algorithm>
#include <cerrno>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "container/injected_files.h"
#include "edits/inner_path.h"
#include "kernel/openat2.h"
#include "kernel/tmpfs.h"

namespace ogh {

namespace {

constexpr size_t max_file_size = size_t{1} << 20U;

bool change(int mount, std::uint64_t add, std::uint64_t remove)
{
    mount_attr attributes{};
    attributes.attr_set = add;
    attributes.attr_clr = remove;
    return ::mount_setattr(mount, "", AT_EMPTY_PATH, &attributes, sizeof attributes) == 0;
}

/** The tmpfs is writable while this lives; only this process can reach it by then. */
class Unlocked final {
public:
    Unlocked(int tmpfs, const std::string &what) : tmpfs_(tmpfs) { set(0, MOUNT_ATTR_RDONLY, what); }
    Unlocked(const Unlocked &) = delete;
    Unlocked &operator=(const Unlocked &) = delete;
    ~Unlocked()
    {
        if (tmpfs_ >= 0)
            change(tmpfs_, MOUNT_ATTR_RDONLY, 0); // after an error, which is the one that counts
    }

    void lock(const std::string &what)
    {
        set(MOUNT_ATTR_RDONLY, 0, what);
        tmpfs_ = -1;
    }

private:
    void set(std::uint64_t add, std::uint64_t remove, const std::string &what) const
    {
        if (!change(tmpfs_, add, remove))
            throw SystemError(errno, "cannot change the mount at " + what + " (mount_setattr)");
    }

    int tmpfs_;
};

std::string relative(const MountEdit &mount, const TmpfsEdit &edit)
{
    return mount.container_path.substr(edit.container_path.size() + 1);
}

std::vector<const MountSource *> missing_in(int tmpfs, const TmpfsEdit &edit,
                                            const std::vector<MountSource> &sources)
{
    std::vector<const MountSource *> missing;
    for (const MountSource &source : sources) {
        const std::string what = quote(source.edit.container_path);
        const auto found =
            find_path(tmpfs, relative(source.edit, edit), O_PATH | O_DIRECTORY, Walk::Beneath, what);
        if (!found || !Inode::of(found->get(), what).mount_root)
            missing.push_back(&source);
    }
    return missing;
}

bool has_file(int tmpfs, const TmpfsEdit::File &file, const ProcFs &proc)
{
    const auto fd = find_path(tmpfs, file.path, O_PATH | O_NOFOLLOW, Walk::OneStep, "a file of our own");
    if (!fd)
        return false;
    const Inode inode = Inode::of(fd->get(), "a file of our own");
    if (!inode.is(Kind::File) || inode.size != file.content.size() || inode.size > max_file_size)
        return false;
    const UniqueFd opened = proc.reopen(fd->get(), O_RDONLY, "a file of our own");
    return read_all(opened.get(), max_file_size, "a file of our own") == file.content;
}

/** Whether an earlier run has covered it: by the mount table, and by what is in it. */
bool is_covered(const Place &place, const TmpfsEdit &edit, EnteredContainer &container)
{
    if (!place.inode.mount_root)
        return false;
    const auto own = container.mounts_of(injected_source);
    return std::any_of(own.begin(), own.end(),
                       [&](const InnerMount &mount) { return mount.id == place.inode.mount_id; }) &&
           std::all_of(edit.files.begin(), edit.files.end(), [&](const TmpfsEdit::File &file) {
               return has_file(place.fd.get(), file, container.proc());
           });
}

/** Puts an empty tmpfs there. @return a descriptor of it */
int cover(const Place &place, const InnerPath &path, EnteredContainer &container, Attached &attached)
{
    UniqueFd made = make_tmpfs(
        {.label = container.mount_label(),
         .source = injected_source,
         .attributes = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC | MOUNT_ATTR_RDONLY});
    const int tmpfs = made.get();
    const Inode inode = Inode::of(tmpfs, quote(path.full()));
    // First, since nothing can be mounted on it while it is detached, before Linux 6.15.
    attached.put(attached.hold(MountTree(std::move(made))), inode, place, path, container.places());
    return tmpfs;
}

} // namespace

Notes overlay_proc(const TmpfsEdit &edit, EnteredContainer &container, Attached &attached)
{
    const InnerPath path = InnerPath::parse(edit.container_path);
    const std::string what = quote(edit.container_path);
    const auto place = container.places().proc_target(path);
    if (!place)
        return {{LogLevel::Info, "the container has no " + what + ", so nothing of it is to be covered"}};
    const bool covered = is_covered(*place, edit, container);
    const int tmpfs = covered ? place->fd.get() : cover(*place, path, container, attached);
    const auto missing = missing_in(tmpfs, edit, container.proc_sources());
    if (covered && missing.empty())
        return {{LogLevel::Debug, what + " is covered already"}};
    Unlocked writable(tmpfs, what);
    if (!covered) {
        for (const TmpfsEdit::File &file : edit.files)
            write_injected_file(tmpfs, file, quote(edit.container_path + "/" + file.path));
    }
    for (const MountSource *source : missing) {
        const UniqueFd folder = make_injected_folders(tmpfs, relative(source->edit, edit), what);
        attached.put_in_own(source->tree, folder.get(), quote(source->edit.container_path));
    }
    writable.lock(what);
    return {
        {LogLevel::Info, (covered ? "added to what covers " : "mounted a tmpfs of our own over ") + what}};
}

} // namespace ogh
