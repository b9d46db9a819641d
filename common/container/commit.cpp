// SPDX-License-Identifier: Apache-2.0
#include "container/commit.h"

#include <fcntl.h>
#include <sys/mount.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "container/entered_container.h"
#include "container/entry_steps.h"
#include "container/host_sources.h"
#include "container/injected_tree.h"
#include "edits/edits.h"
#include "edits/inner_path.h"
#include "kernel/openat2.h"
#include "kernel/tmpfs.h"

namespace ogh {

namespace {

constexpr size_t max_file_size = size_t{1} << 20U;
constexpr const char *own_file = "a file of what covers a directory of /proc";

bool change(int mount, std::uint64_t add, std::uint64_t remove)
{
    mount_attr attributes{};
    attributes.attr_set = add;
    attributes.attr_clr = remove;
    return ::mount_setattr(mount, "", AT_EMPTY_PATH, &attributes, sizeof attributes) == 0;
}

void change(int mount, std::uint64_t add, std::uint64_t remove, const std::string &what)
{
    if (!change(mount, add, remove))
        throw SystemError(errno, "cannot change the mount at " + what + " (mount_setattr)");
}

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
        const auto found = find_path(tmpfs, relative(source.edit, edit), O_PATH, Walk::Beneath, what);
        if (!found || !Inode::of(found->get(), what).mount_root)
            missing.push_back(&source);
    }
    return missing;
}

bool has_file(int tmpfs, const TmpfsEdit::File &file, const ProcFs &proc)
{
    const auto fd = find_path(tmpfs, file.path, O_PATH | O_NOFOLLOW, Walk::OneStep, own_file);
    if (!fd)
        return false;
    const Inode inode = Inode::of(fd->get(), own_file);
    if (!inode.is(Kind::File) || inode.size != file.content.size() || inode.size > max_file_size)
        return false;
    const UniqueFd opened = proc.reopen(fd->get(), O_RDONLY, own_file);
    return read_all(opened.get(), max_file_size, own_file) == file.content;
}

/** Whether an earlier run has covered it: by the mount table, and by what is in it. */
bool is_covered(const Target &target, const TmpfsEdit &edit, EnteredContainer &container)
{
    return target.inode.mount_root && container.resolver().is_on(injected_source, target.inode) &&
           std::all_of(edit.files.begin(), edit.files.end(), [&](const TmpfsEdit::File &file) {
               return has_file(target.fd.get(), file, container.proc());
           });
}

/** Only this process can reach the tmpfs while it is writable. */
void set_writable(int tmpfs, const std::string &what, UndoLog &undo)
{
    const auto held = std::make_shared<const UniqueFd>(::fcntl(tmpfs, F_DUPFD_CLOEXEC, 0));
    change(tmpfs, 0, MOUNT_ATTR_RDONLY, what);
    undo.add([held] { change(held->get(), MOUNT_ATTR_RDONLY, 0); });
}

/**
 * The step of commit() for Edits::proc: covers a directory of the container's /proc. Where an earlier run has covered it
 * with the same files, the directories that are not there yet are added to it. All of it dies with the container.
 * @throws Error
 */
void bind_proc(const Edits &edits, EnteredContainer &container)
{
    if (!edits.proc)
        return;
    const auto &[edit, mounts, tree] = container.sources().proc.value();
    const InnerPath path = InnerPath::parse(edit.container_path);
    const std::string what = quote(edit.container_path);
    container.check("covering " + what);
    const auto target = container.resolver().proc_target(path);
    if (!target)
        return container.note(LogLevel::Info,
                              "the container has no " + what + ", so nothing of it is to be covered");
    const bool covered = is_covered(*target, edit, container);
    if (!covered)
        container.attach(tree, Inode::of(tree.fd(), what), *target, path);
    const int tmpfs = covered ? target->fd.get() : tree.fd();
    const auto missing = missing_in(tmpfs, edit, mounts);
    if (covered && missing.empty())
        return container.note(LogLevel::Debug, what + " is covered already");
    set_writable(tmpfs, what, container.undo());
    if (!covered) {
        for (const TmpfsEdit::File &file : edit.files)
            write_injected_file(tmpfs, file, quote(edit.container_path + "/" + file.path));
    }
    for (const MountSource *source : missing) {
        container.check("covering " + what);
        const UniqueFd inside =
            make_injected_target(tmpfs, relative(source->edit, edit), source->edit.kind, what);
        container.attach_in_injected(source->tree, inside.get(), quote(source->edit.container_path));
    }
    change(tmpfs, MOUNT_ATTR_RDONLY, 0, what);
    container.note(LogLevel::Info, (covered ? "added to what covers " : "mounted a tmpfs over ") + what);
}

/**
 * One kind of effect. It puts on the undo log what it has done, as it does it, and asks before each of its parts whether
 * the run has been told to end.
 */
using Step = void (*)(const Edits &, EnteredContainer &);

/** The order in which a container is changed. */
constexpr std::array<Step, 9> steps = {
    allow_devices, // The likeliest to be refused, and nothing has been made in the container by then.
    attach_mounts,
    put_nodes,
    put_tree,
    make_links, // They lead into the tree.
    bind_proc,
    bind_files,
    replace_files,
    allow_devices_in_scope, // The last: it cannot be undone, and cannot fail.
};

} // namespace

void commit(const Edits &edits, ContainerView &&view, Progress &progress)
{
    progress.cancellation.check("opening what the container is to be given");
    HostSources sources = open_host_sources(edits, view);
    progress.cancellation.check("entering the container");
    EnteredContainer container(std::move(view), std::move(sources), progress);
    container.note(std::move(container.sources().notes));
    try {
        for (const Step step : steps)
            step(edits, container);
    } catch (...) {
        progress.undo.run(); // while there is what the log refers to
        throw;
    }
    progress.undo.drop();
}

} // namespace ogh
