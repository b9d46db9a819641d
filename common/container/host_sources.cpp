// SPDX-License-Identifier: Apache-2.0
#include "container/host_sources.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <linux/capability.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "base/path_names.h"
#include "base/text.h"
#include "kernel/fs_credentials.h"
#include "kernel/openat2.h"
#include "kernel/process.h"
#include "kernel/tmpfs.h"

namespace ogh {

namespace {

UniqueFd make_directory(int parent, const std::string &name, const std::string &what)
{
    if (::mkdirat(parent, name.c_str(), 0755) != 0 && errno != EEXIST)
        throw SystemError(errno, "cannot make " + what);
    return open_path(parent, name, O_PATH | O_DIRECTORY, Walk::Beneath, what);
}

/** Makes the directory `path`, relative to `tmpfs`, with those above it, and opens it (O_PATH). @throws SystemError */
UniqueFd make_injected_directories(int tmpfs, std::string_view path, const std::string &what)
{
    const size_t slash = path.find('/');
    UniqueFd directory = make_directory(tmpfs, std::string(path.substr(0, slash)), what);
    return slash == std::string_view::npos
               ? std::move(directory)
               : make_injected_directories(directory.get(), path.substr(slash + 1), what);
}

void check(bool done, const std::string &what, const char *call)
{
    if (!done)
        throw SystemError(errno, "cannot put together " + what + " (" + call + ")");
}

UniqueFd copy_of(int place, unsigned flags, const std::string &what)
{
    UniqueFd copy(::open_tree(place, "", AT_EMPTY_PATH | OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | flags));
    check(copy.valid(), what, "open_tree");
    return copy;
}

/** Of the mount at `name` in `directory`, or, for "", of `directory` with all that is mounted below it. */
void set_attributes(int directory, const std::string &name, mount_attr attributes, const std::string &what)
{
    const unsigned flags = name.empty() ? AT_EMPTY_PATH | AT_RECURSIVE : AT_SYMLINK_NOFOLLOW;
    check(::mount_setattr(directory, name.c_str(), flags, &attributes, sizeof attributes) == 0, what,
          "mount_setattr");
}

/**
 * Opens the host's directory or file of a mount (O_PATH), without following any symlink.
 * @throws Error: NotAvailable if it has gone; Failure if it is not of the kind that was planned
 */
UniqueFd open_source(const MountEdit &edit)
{
    const std::string what = quote(edit.host_path);
    std::optional<UniqueFd> fd = find_path(AT_FDCWD, edit.host_path, O_PATH, Walk::NoSymlinks, what);
    if (!fd)
        throw Error(ErrorKind::NotAvailable, what + " has gone since it was looked up");
    if (!Inode::of(fd->get(), what).is(edit.kind))
        throw Error(ErrorKind::Failure, what + " is no longer what it was when it was looked up");
    return std::move(*fd);
}

MountSource copy_source(const MountEdit &edit, int idmap)
{
    const MountAttributes attributes{.read_only = edit.read_only,
                                     .idmap = edit.idmap ? idmap : -1,
                                     .recursive = edit.recursive,
                                     .further = edit.attributes};
    return {edit, MountTree(open_source(edit).get(), attributes, quote(edit.host_path))};
}

/** Opens the sources of all mounts, in their order. Call it on the host. @throws Error */
std::vector<MountSource> open_sources(const std::vector<MountEdit> &mounts,
                                      const std::optional<UserNamespace> &user_namespace)
{
    raise_open_files_limit();
    const int idmap = user_namespace ? user_namespace->fd.get() : -1;
    std::vector<MountSource> sources;
    sources.reserve(mounts.size());
    for (const MountEdit &edit : mounts)
        sources.push_back(copy_source(edit, idmap));
    return sources;
}

void check_lock(bool done, const char *what)
{
    if (!done)
        throw SystemError(errno, std::string("cannot lock the mounts for a user namespace (") + what + ")");
}

/**
 * The child: copies the mount namespace into that of a new user namespace, which locks all that is in it, and
 * opens a copy of each tree. It shares the table of descriptors with its parent, and does nothing but calls
 * that need no memory.
 */
int copy_trees(int tmpfs, size_t count, int result) noexcept
{
    // The working directory is taken along into the new namespace; a descriptor would stay with the old one.
    if (::fchdir(tmpfs) != 0 || ::unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0)
        return errno;
    for (size_t i = 0; i < count; ++i) {
        const std::string name = std::to_string(i);
        const int tree =
            ::open_tree(AT_FDCWD, name.c_str(), OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE);
        if (tree < 0 || ::write(result, &tree, sizeof tree) != sizeof tree)
            return errno;
    }
    return 0;
}

/** @return the error number of what has failed, 0 for nothing */
int copy_in_child(int tmpfs, size_t count, int result)
{
    const long child = ::syscall(SYS_clone, CLONE_FILES | SIGCHLD, nullptr, nullptr, nullptr, nullptr);
    check_lock(child >= 0, "clone");
    if (child == 0)
        ::_exit(copy_trees(tmpfs, count, result));
    int status = 0;
    while (::waitpid(static_cast<pid_t>(child), &status, 0) < 0 && errno == EINTR)
        continue;
    return WIFEXITED(status) ? WEXITSTATUS(status) : EINTR;
}

/**
 * Replaces detached trees by copies that went through a throw-away user namespace, which locks their attributes and
 * the mounts in them (mount_namespaces(7), "Restrictions on mount namespaces"): whoever has CAP_SYS_ADMIN in a user
 * namespace can then neither make them writable nor uncover what is below a mount in them.
 * @param tmpfs where the trees are put together; names that are numbers are taken
 * @throws Error
 */
void lock_mounts(const PrivateTmpfs &tmpfs, const std::vector<MountTree *> &trees)
{
    for (size_t i = 0; i < trees.size(); ++i) {
        const bool is_directory = Inode::of(trees[i]->fd(), "a mount").is(Kind::Directory);
        const Kind kind = is_directory ? Kind::Directory : Kind::File;
        trees[i]->attach(tmpfs.make(std::to_string(i), kind).get(), "a directory for locking");
    }
    const UniqueFd result(::memfd_create("trees", MFD_CLOEXEC));
    check_lock(result.valid(), "memfd_create");
    errno = copy_in_child(tmpfs.fd(), trees.size(), result.get());
    check_lock(errno == 0, "user namespace");
    check_lock(::lseek(result.get(), 0, SEEK_SET) == 0, "lseek");
    for (MountTree *tree : trees) {
        int fd = -1;
        check_lock(::read(result.get(), &fd, sizeof fd) == sizeof fd, "read");
        *tree = MountTree(UniqueFd(fd));
    }
}

BindFile make(const FileEdit &edit, const PrivateTmpfs &tmpfs, const std::string &name,
              const std::optional<FsCredentials> &owner)
{
    const std::string what = "the file for " + quote(edit.container_path);
    const UniqueFd fd(
        ::openat(tmpfs.fd(), name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (!fd.valid() || ::fchmod(fd.get(), edit.mode) != 0 ||
        (owner && ::fchown(fd.get(), owner->uid, owner->gid) != 0))
        throw SystemError(errno, "cannot make " + what);
    write_all(fd.get(), edit.content, what);
    const UniqueFd place = open_path(tmpfs.fd(), name, O_PATH | O_NOFOLLOW, Walk::OneStep, what);
    return {edit.container_path, MountTree(place.get(), {.read_only = true}, what)};
}

/**
 * Makes those of Edits::files that are mounted.
 * @param owner the container's root; nothing: this process
 * @throws SystemError
 */
std::vector<BindFile> make_bind_files(const std::vector<FileEdit> &files, const PrivateTmpfs &tmpfs,
                                      const std::optional<FsCredentials> &owner)
{
    std::vector<BindFile> made;
    for (const FileEdit &edit : files) {
        if (edit.how == FileEdit::How::MountOver)
            made.push_back(make(edit, tmpfs, "bind" + std::to_string(made.size()), owner));
    }
    return made;
}

ProcSource open_proc(const TmpfsEdit &edit, const std::string &label)
{
    constexpr unsigned attributes =
        MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC | MOUNT_ATTR_RDONLY;
    return {edit, open_sources(edit.mounts, std::nullopt),
            MountTree(make_tmpfs({.label = label, .source = injected_source, .attributes = attributes}))};
}

/** Without the host's root its own nodes are mounted; otherwise they only have to be what the driver says. */
std::vector<NodeSource> open_nodes(const std::vector<NodeEdit> &nodes, const ContainerView &view)
{
    std::vector<NodeSource> sources;
    sources.reserve(nodes.size());
    const bool as_host = in_initial_user_namespace();
    if (as_host) {
        require_capabilities({CAP_MKNOD}, "making device nodes");
        check_host_nodes(nodes);
    }
    for (const NodeEdit &node : nodes) {
        sources.push_back({node, std::nullopt});
        if (!as_host)
            sources.back().mount = open_device_mount(node, view.container().keeps_groups);
    }
    return sources;
}

/** All that has a path on the host, while that path means what it says. */
HostSources open_by_path(const Edits &edits, ContainerView &view)
{
    HostSources sources;
    const Container &container = view.container();
    sources.mounts = open_sources(edits.mounts, view.init().user_namespace());
    if (edits.proc)
        sources.proc = open_proc(*edits.proc, container.mount_label);
    if (!edits.nodes.empty()) {
        sources.cgroups.emplace(view.proc(), view.mount_policy().on_host(), container.pid,
                                container.cgroups_path);
        if (!sources.cgroups->scopes().empty())
            sources.systemd = ManagerConnection::open(sources.notes);
        sources.nodes = open_nodes(edits.nodes, view);
    }
    return sources;
}

/** Inside a container this process may give nothing to another user; what it brings along can be theirs. */
bool is_owned(const NodeEdit &node)
{
    return node.owner != NodeOwner();
}

bool needs_tmpfs(const Edits &edits, bool in_user_namespace)
{
    const bool mounts_a_file = std::any_of(edits.files.begin(), edits.files.end(), [](const FileEdit &file) {
        return file.how == FileEdit::How::MountOver;
    });
    const bool owned = std::any_of(edits.nodes.begin(), edits.nodes.end(), is_owned);
    return edits.tree || mounts_a_file || owned ||
           (in_user_namespace && !(edits.mounts.empty() && edits.nodes.empty()));
}

/** As this process numbers it; whoever the container has no number for is its root. */
NodeOwner outside_of(const NodeOwner &owner, const UserNamespace &user_namespace)
{
    const auto root = [](const IdMap &ids) { return ids.root().value_or(0); };
    return {.uid = user_namespace.uids.outside(owner.uid).value_or(root(user_namespace.uids)),
            .gid = user_namespace.gids.outside(owner.gid).value_or(root(user_namespace.gids))};
}

void lock(HostSources &sources, const PrivateTmpfs &tmpfs)
{
    // What covers /proc is not among them: the container's root can take it away as a whole anyway, and what there is
    // in it belongs to the host's root.
    std::vector<MountTree *> trees;
    trees.reserve(sources.mounts.size() + sources.bind_files.size() + 1);
    for (MountSource &source : sources.mounts)
        trees.push_back(&source.tree);
    if (sources.tree)
        trees.push_back(&sources.tree->tree());
    for (BindFile &file : sources.bind_files)
        trees.push_back(&file.tree);
    if (!trees.empty())
        lock_mounts(tmpfs, trees);
}

/** Puts together what needs a tmpfs for that; from its making on nothing of /proc has a path any more. */
void put_together(const Edits &edits, const ContainerView &view, HostSources &sources)
{
    const PrivateTmpfs tmpfs(view.container().mount_label);
    const auto &user_namespace = view.init().user_namespace();
    const auto owner = root_of(user_namespace);
    if (edits.tree)
        sources.tree.emplace(*edits.tree, tmpfs, view.container().mount_label);
    sources.bind_files = make_bind_files(edits.files, tmpfs, owner);
    size_t number = 0;
    for (NodeSource &node : sources.nodes) {
        if (node.mount || (!user_namespace && !is_owned(node.edit)))
            continue;
        if (user_namespace)
            node.edit.owner = outside_of(node.edit.owner, *user_namespace);
        node.mount = make_device_mount(node.edit, tmpfs, "node" + std::to_string(number++));
    }
    if (user_namespace)
        lock(sources, tmpfs);
}

/** A warning for each writable source which the container's root cannot write to. */
Notes write_obstacles(const std::vector<MountSource> &sources, const UserNamespace &user_namespace)
{
    Notes notes;
    for (const auto &[edit, tree] : sources) {
        const Inode inode = Inode::of(tree.fd(), quote(edit.host_path));
        if (edit.read_only || edit.idmap || user_namespace.root_may_write(inode.uid, inode.gid, inode.mode))
            continue;
        notes.push_back({LogLevel::Warning,
                         quote(edit.container_path) +
                             " is mounted writable, but the container's user namespace has "
                             "no number for its owner (uid " +
                             std::to_string(inode.uid) + ", gid " + std::to_string(inode.gid) +
                             " of the host), so that its root cannot write there; --idmap maps the owners"});
    }
    return notes;
}

} // namespace

InjectedTree::InjectedTree(const TmpfsEdit &edit, const PrivateTmpfs &place, const std::string &label)
    : container_path_(edit.container_path), top_(make_tmpfs({.label = label, .source = injected_source}))
{
    const std::string what = quote(container_path_);
    const UniqueFd target = place.make("tree", Kind::Directory);
    check(::move_mount(top_.get(), "", target.get(), "", MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) ==
              0,
          what, "move_mount");
    for (const MountEdit &each : edit.mounts)
        mount(each);
    for (const TmpfsEdit::File &each : edit.files)
        write(each);
    for (const LinkEdit &each : edit.links)
        link(each);
    set_attributes(top_.get(), "",
                   {MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV, 0, MS_PRIVATE, 0}, what);
    for (const MountEdit &each : edit.mounts) {
        if (!each.read_only)
            set_attributes(directory(directory_of(each.container_path)), file_name_of(each.container_path),
                           {MOUNT_ATTR_NOEXEC, MOUNT_ATTR_RDONLY, 0, 0}, what);
    }
    tree_ = MountTree(copy_of(top_.get(), AT_RECURSIVE, what));
    directories_.clear(); // of a mount that is left behind
}

void InjectedTree::mount(const MountEdit &edit)
{
    const std::string what = quote(edit.host_path);
    const UniqueFd source = open_source(edit);
    const std::string name = file_name_of(edit.container_path);
    const bool is_directory = edit.kind == Kind::Directory;
    const int at = directory(directory_of(edit.container_path));
    const int made =
        is_directory ? ::mkdirat(at, name.c_str(), 0755) : ::mknodat(at, name.c_str(), S_IFREG | 0444, 0);
    check(made == 0, what, "mkdir");
    const UniqueFd copy = copy_of(source.get(), is_directory ? AT_RECURSIVE : 0, what);
    check(::move_mount(copy.get(), "", at, name.c_str(), MOVE_MOUNT_F_EMPTY_PATH) == 0, what, "move_mount");
}

void InjectedTree::write(const TmpfsEdit::File &file)
{
    const std::string path = container_path_ + "/" + file.path;
    write_injected_file(directory(directory_of(path)), {file_name_of(path), file.content}, quote(path));
}

void InjectedTree::link(const LinkEdit &edit)
{
    const std::string &path = edit.container_path;
    check(::symlinkat(edit.target.c_str(), directory(directory_of(path)), file_name_of(path).c_str()) == 0,
          quote(path), "symlink");
}

int InjectedTree::directory(const std::string &path)
{
    if (path == container_path_)
        return top_.get();
    const auto known = directories_.find(path);
    if (known != directories_.end())
        return known->second.get();
    const std::string_view below = std::string_view(path).substr(container_path_.size() + 1);
    return directories_.emplace(path, make_injected_directories(top_.get(), below, quote(container_path_)))
        .first->second.get();
}

UniqueFd make_injected_target(int tmpfs, const std::string &path, Kind kind, const std::string &what)
{
    if (kind == Kind::Directory)
        return make_injected_directories(tmpfs, path, what);
    const UniqueFd directory = make_injected_directories(tmpfs, directory_of(path), what);
    const std::string name = file_name_of(path);
    if (::mknodat(directory.get(), name.c_str(), S_IFREG | 0444, 0) != 0 && errno != EEXIST)
        throw SystemError(errno, "cannot make " + what);
    return open_path(directory.get(), name, O_PATH | O_NOFOLLOW, Walk::Beneath, what);
}

void write_injected_file(int tmpfs, const TmpfsEdit::File &file, const std::string &what)
{
    const UniqueFd fd(::openat(tmpfs, file.path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0444));
    if (!fd.valid())
        throw SystemError(errno, "cannot make " + what);
    write_all(fd.get(), file.content, what);
}

HostSources open_host_sources(const Edits &edits, ContainerView &view)
{
    HostSources sources = open_by_path(edits, view);
    const auto &user_namespace = view.init().user_namespace();
    if (needs_tmpfs(edits, user_namespace.has_value()))
        put_together(edits, view, sources);
    if (user_namespace) {
        const Notes more = write_obstacles(sources.mounts, *user_namespace);
        sources.notes.insert(sources.notes.end(), more.begin(), more.end());
    }
    return sources;
}

} // namespace ogh
