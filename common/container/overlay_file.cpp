// SPDX-License-Identifier: Apache-2.0
#include "container/overlay_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/error.h"
#include "base/file.h"
#include "kernel/child_process.h"
#include "kernel/lock_mounts.h"
#include "kernel/private_tmpfs.h"

namespace ogh {

namespace {

constexpr const char *own_file = "a file of our own";

/** Descriptors of one blank file; parent and child share the table of them. */
struct Made {
    int fd;
    int tree;
};

UniqueFd open_for_writing(const PrivateTmpfs &tmpfs, const std::string &name, mode_t mode,
                          const std::optional<FsCredentials> &owner)
{
    UniqueFd fd(::openat(tmpfs.fd(), name.c_str(), O_WRONLY | O_NOFOLLOW | O_CLOEXEC));
    if (!fd.valid() || ::fchmod(fd.get(), mode) != 0 ||
        (owner && ::fchown(fd.get(), owner->uid, owner->gid) != 0))
        throw SystemError(errno, std::string("cannot open ") + own_file);
    return fd;
}

std::vector<Made> make(const OverlayFiles &how)
{
    const PrivateTmpfs tmpfs(how.label);
    std::vector<UniqueFd> fds;
    std::vector<MountTree> trees;
    for (size_t i = 0; i < how.modes.size(); ++i) {
        const std::string name = "blank" + std::to_string(i);
        trees.emplace_back(tmpfs.make(name, Kind::File).get(), MountAttributes{.read_only = true}, own_file);
        fds.push_back(open_for_writing(tmpfs, name, how.modes[i], how.owner));
    }
    std::vector<MountTree *> to_lock;
    to_lock.reserve(how.modes.size());
    for (MountTree &tree : trees)
        to_lock.push_back(&tree);
    if (how.lock)
        lock_mounts(tmpfs, to_lock);
    std::vector<Made> made;
    made.reserve(how.modes.size());
    for (size_t i = 0; i < how.modes.size(); ++i)
        made.push_back({fds[i].release(), trees[i].release()});
    return made;
}

/** The child: leaves what it has made in the table, and the numbers, or what went wrong, in `result`. */
int make_in_child(const OverlayFiles &how, int result)
{
    std::string bytes;
    ExitCode code = ExitCode::Success;
    try {
        const std::vector<Made> made = make(how);
        bytes.assign(static_cast<const char *>(static_cast<const void *>(made.data())),
                     made.size() * sizeof(Made));
    } catch (const Error &error) {
        bytes = error.what();
        code = error.code();
    }
    try {
        write_all(result, bytes, "a result");
    } catch (const Error &error) {
        code = error.code();
    }
    return static_cast<int>(code);
}

} // namespace

OverlayFile::OverlayFile(UniqueFd fd, MountTree tree)
    : fd_(std::move(fd)), tree_(std::move(tree)), inode_(Inode::of(fd_.get(), own_file))
{
}

void OverlayFile::fill(std::string_view content, const std::string &what) const
{
    write_all(fd_.get(), content, what);
}

std::vector<OverlayFile> make_overlay_files(const OverlayFiles &how)
{
    const UniqueFd result(::memfd_create("blank files", MFD_CLOEXEC));
    if (!result.valid())
        throw SystemError(errno, "cannot make a memfd");
    const std::string cannot = std::string("cannot make ") + own_file;
    const auto code = run_in_child(cannot, [&] { return make_in_child(how, result.get()); });
    if (::lseek(result.get(), 0, SEEK_SET) != 0)
        throw SystemError(errno, "cannot read a result");
    if (!code)
        throw Error(ExitCode::Failure, cannot + ": its process was killed");
    if (*code != 0)
        throw Error(static_cast<ExitCode>(*code), read_all(result.get(), 4096, "a result"));
    std::vector<OverlayFile> files;
    files.reserve(how.modes.size());
    for (size_t i = 0; i < how.modes.size(); ++i) {
        Made made{};
        if (::read(result.get(), &made, sizeof made) != sizeof made)
            throw SystemError(errno, "cannot read a result");
        files.emplace_back(UniqueFd(made.fd), MountTree(UniqueFd(made.tree)));
    }
    return files;
}

} // namespace ogh
