// SPDX-License-Identifier: Apache-2.0
#include "container/commit.h"

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/file.h"
#include "base/log.h"
#include "base/text.h"
#include "container/container_writer.h"
#include "container/device_node.h"
#include "container/host_sources.h"
#include "edits/edits.h"
#include "edits/inner_path.h"
#include "image/container_view.h"
#include "image/root_fs.h"
#include "kernel/end_signals.h"
#include "kernel/openat2.h"
#include "kernel/progress.h"
#include "kernel/tmpfs.h"
#include "systemd/scope_unit.h"

namespace ogh {

namespace {

/**
 * A container that this process has entered, once and for good, with what it needs of the host in hand. What is done in
 * it goes on the undo log.
 */
class EnteredContainer final {
public:
    /**
     * @param view is used up
     * @param progress outlives this; its undo log is run or dropped before this goes
     * @throws Error as InitProcess::enter() does
     */
    EnteredContainer(ContainerView &&view, HostSources &&sources, Progress &progress)
        : sources_(std::move(sources)), view_(std::move(view).enter()), progress_(progress),
          resolver_(std::move(view_.root), view_.mount_policy), writer_(resolver_, view_.owner, progress)
    {
    }

    EnteredContainer(const EnteredContainer &) = delete;
    EnteredContainer &operator=(const EnteredContainer &) = delete;

    [[nodiscard]] HostSources &sources() { return sources_; }
    [[nodiscard]] const ProcFs &proc() const { return view_.proc; }
    [[nodiscard]] Resolver &resolver() { return resolver_; }
    [[nodiscard]] ContainerWriter &writer() { return writer_; }
    [[nodiscard]] UndoLog &undo() { return progress_.undo; }

    void note(LogLevel level, std::string text) { progress_.notes.push_back({level, std::move(text)}); }

    void note(Notes notes)
    {
        progress_.notes.insert(progress_.notes.end(), std::make_move_iterator(notes.begin()),
                               std::make_move_iterator(notes.end()));
    }

    /** Asked before each part. @param at as Cancellation::check() takes it. @throws Cancelled */
    void check(const std::string &at) const { progress_.cancellation.check(at); }

    /**
     * Attaches `tree` on `target`, which was found at `path`.
     * @param tree lives as long as this
     * @throws Error also if the container would not see it there, because the target was moved meanwhile
     */
    void attach(const MountTree &tree, const Target &target, const InnerPath &path)
    {
        const std::string full = path.full();
        attach_in_injected(tree, target.fd.get(), quote(full));
        // Somebody who renames in a shared volume meanwhile cannot lead the mount out of the container, but the
        // container might not see it where it was promised.
        if (!resolver_.look(path).same_file(Inode::of(tree.fd(), quote(full))))
            throw Error(ErrorKind::HostileContainer,
                        quote(full) + " in the container changed while it was mounted");
    }

    /** The same in a directory of a tmpfs of this collection, which nobody can move. @param what names it in messages */
    void attach_in_injected(const MountTree &tree, int directory, const std::string &what)
    {
        tree.attach(directory, what);
        // It dies with the container, but until then nobody could remove a placeholder below it.
        undo().add([this, &tree] { tree.detach(proc()); });
    }

private:
    HostSources sources_;
    EnteredView view_;
    Progress &progress_;
    Resolver resolver_;
    ContainerWriter writer_;
};

/** Where all have the same permissions it does not matter whose it is. */
bool has_owner(const NodeEdit &node)
{
    return (node.mode >> 6U & 7U) != (node.mode & 7U);
}

/** A node that not everybody may open is a trap: some libraries give up at the first EACCES. */
bool is_for_everyone(const Inode &inode, const NodeEdit &node)
{
    const bool is_theirs = !has_owner(node) || node.owner == NodeOwner{.uid = inode.uid, .gid = inode.gid};
    return inode.is_node(node.type, number_of(node)) && is_theirs && (inode.mode & node.mode) == node.mode;
}

/** That no other can be made is not what has to be heard where the right device is there, with other permissions. */
[[noreturn]] void refuse_permissions(const Inode &inode, const NodeEdit &node)
{
    const auto permissions = [&](mode_t mode, const NodeOwner &owner) {
        return mode_text(mode) +
               (has_owner(node) ? " of " + std::to_string(owner.uid) + ":" + std::to_string(owner.gid) : "");
    };
    throw Error(ErrorKind::HostileContainer,
                "cannot use " + quote(node.container_path) + " in the container: its mode is " +
                    permissions(inode.mode, {.uid = inode.uid, .gid = inode.gid}) + " and must be " +
                    permissions(node.mode, node.owner) +
                    "; it comes from the host or a volume, where nothing is changed: chmod it there");
}

/**
 * Whether what has the node's name will do.
 * @param mounts whether another one can be mounted over it
 * @throws Error if it is that device, not for everyone, and there for good
 */
bool will_do(const Inode &inode, const NodeEdit &node, bool mounts, EnteredContainer &container)
{
    if (is_for_everyone(inode, node))
        return true;
    if (!inode.is_node(node.type, number_of(node)))
        return false;
    const std::string directory = InnerPath::parse(node.container_path).parent;
    if ((inode.mount_root && !mounts) || !container.resolver().why_not_make(directory).empty())
        refuse_permissions(inode, node);
    return false;
}

/** Makes the node in the container's /dev. @return whether there was something to do */
bool make_node(const NodeEdit &node, EnteredContainer &container)
{
    const auto make = [&](int directory, const std::string &name) {
        return make_device_node(directory, name, node);
    };
    const auto is_right = [&](int, const Inode &inode) { return will_do(inode, node, false, container); };
    return container.writer().make_entry(InnerPath::parse(node.container_path), {make, is_right});
}

/** Mounts the node where none can be made. @return whether there was something to do */
bool mount_node(const NodeEdit &node, const MountTree &mount, EnteredContainer &container)
{
    const InnerPath path = InnerPath::parse(node.container_path);
    const Inode own = Inode::of(mount.fd(), quote(node.container_path));
    const auto target = container.writer().node_target(path, [&](const Inode &inode) {
        return inode.same_file(own) || will_do(inode, node, true, container);
    });
    if (target)
        container.attach(mount, *target, path);
    return target.has_value();
}

bool leads_to(int link, const Inode &inode, const std::string &target)
{
    std::string found(target.size() + 1, '\0');
    return S_ISLNK(inode.mode) &&
           ::readlinkat(link, "", found.data(), found.size()) == static_cast<ssize_t>(target.size()) &&
           found.starts_with(target);
}

/** @return whether there was something to do */
bool make_link(const LinkEdit &link, ContainerWriter &writer)
{
    const auto make = [&](int directory, const std::string &name) {
        return ::symlinkat(link.target.c_str(), directory, name.c_str()) == 0 ? 0 : errno;
    };
    const auto is_right = [&](int fd, const Inode &inode) {
        return link.only_if_absent ? !is_left_behind(inode) : leads_to(fd, inode, link.target);
    };
    return writer.make_entry(InnerPath::parse(link.container_path), {make, is_right});
}

bool is_mounted_already(const Target &target, const MountSource &source)
{
    const std::string what = quote(source.edit.container_path);
    return target.inode.mount_root && target.inode.same_file(Inode::of(source.tree.fd(), what)) &&
           source.tree.looks_like(target.fd.get(), what);
}

void attach_mount(const MountSource &source, EnteredContainer &container)
{
    const InnerPath path = InnerPath::parse(source.edit.container_path);
    const std::string &place = source.edit.container_path;
    container.check("mounting at " + quote(place));
    const Target target = container.writer().mount_target(path, source.edit.kind);
    if (is_mounted_already(target, source))
        return container.note(LogLevel::Debug, quote(place) + " is mounted already");
    container.attach(source.tree, target, path);
    container.note(LogLevel::Info, "mounted " + quote(source.edit.host_path) + " at " + quote(place) +
                                       (source.edit.read_only ? ", read-only" : ", writable"));
}

/** @param what names it in a warning, if it is optional */
template<typename Work>
void try_one(bool is_optional, const std::string &what, EnteredContainer &container, const Work &work)
{
    try {
        work();
    } catch (const Cancelled &) {
        throw;
    } catch (const Error &error) {
        if (!is_optional)
            throw;
        container.note(LogLevel::Warning, what + " is left out: " + error.what());
    }
}

// Steps of commit() for devices, and for what is made in directories of the container. What is made in the image outlives a
// container that does not start; its /dev and its device cgroups do not.

/** Lets the container's processes open the devices of Edits::nodes. @throws Error */
void allow_devices(const Edits &edits, EnteredContainer &container)
{
    auto &cgroups = container.sources().cgroups;
    if (!cgroups)
        return;
    container.check("allowing devices");
    container.note(cgroups->allow(rules_of(edits.nodes), container.undo()));
}

/** The same for systemd, where it has rules of its own for the container; see allow_in_scope(). Never throws. */
void allow_devices_in_scope(const Edits &edits, EnteredContainer &container)
{
    HostSources &sources = container.sources();
    const DeviceRules rules = checked(rules_of(edits.nodes));
    if (sources.systemd && !rules.empty())
        container.note(allow_in_scope(*sources.systemd, sources.cgroups->scopes(), rules));
}

/** Edits::nodes: made in the container's /dev, or mounted there where none can be made. @throws Error */
void put_nodes(const Edits &edits, EnteredContainer &container)
{
    if (!edits.nodes.empty() && !container.resolver().why_not_make("/dev").empty())
        container.note(LogLevel::Warning,
                       "the container's /dev is the host's, or shared with it: nothing is made "
                       "there, and the nodes that it has are used");
    for (const NodeSource &node : container.sources().nodes) {
        const std::string &path = node.edit.container_path;
        container.check("giving " + quote(path));
        const bool done =
            node.mount ? mount_node(node.edit, *node.mount, container) : make_node(node.edit, container);
        container.note(done ? LogLevel::Info : LogLevel::Debug,
                       quote(path) + (done ? " is given" : " is there already"));
    }
}

/** Edits::links. @throws Error, except for those that are optional */
void make_links(const Edits &edits, EnteredContainer &container)
{
    for (const LinkEdit &link : edits.links) {
        const std::string &path = link.container_path;
        container.check("making " + quote(path));
        try_one(link.only_if_absent, "the link " + quote(path), container, [&] {
            if (!make_link(link, container.writer()))
                container.note(LogLevel::Debug, quote(path) + " is there already");
        });
    }
}

/** Those of Edits::files that replace others. @throws Error */
void replace_files(const Edits &edits, EnteredContainer &container)
{
    std::vector<std::pair<const FileEdit *, AtomicFile *>> written;
    for (const FileEdit &file : edits.files) {
        if (file.how != FileEdit::How::Replace)
            continue;
        container.check("writing " + quote(file.container_path));
        try_one(file.only_if_possible, "the file " + quote(file.container_path), container,
                [&] { written.emplace_back(&file, &container.writer().write(file)); });
    }
    container.check("replacing files");
    for (const auto &[file, made] : written) {
        const std::string path = quote(file->container_path);
        try_one(file->only_if_possible, "the file " + path, container, [&, made = made] {
            container.writer().replace(*made);
            container.note(LogLevel::Info, "wrote " + path);
        });
    }
}

// Steps that mount something. Mounts die with the container.

/** Edits::mounts; none where an earlier run has put the same source, with the same attributes. @throws Error */
void attach_mounts(const Edits & /*edits*/, EnteredContainer &container)
{
    for (const MountSource &source : container.sources().mounts)
        attach_mount(source, container);
}

/** Edits::tree. @throws Error */
void put_tree(const Edits &edits, EnteredContainer &container)
{
    if (!edits.tree)
        return;
    const InnerPath path = InnerPath::parse(edits.tree->container_path);
    container.check("mounting at " + quote(path.full()));
    const InjectedTree &tree = container.sources().tree.value();
    container.attach(tree.tree(), container.writer().mount_target(path, Kind::Directory), path);
    container.note(LogLevel::Info, "mounted a tree of files at " + quote(path.full()));
}

/** Those of Edits::files that are mounted over others. @throws Error */
void bind_files(const Edits & /*edits*/, EnteredContainer &container)
{
    for (const BindFile &file : container.sources().bind_files) {
        const InnerPath path = InnerPath::parse(file.container_path);
        container.check("mounting at " + quote(path.full()));
        container.attach(file.tree, container.writer().mount_target(path, Kind::File), path);
        container.note(LogLevel::Info, "mounted another file over " + quote(path.full()));
    }
}

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
        container.attach(tree, *target, path);
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
