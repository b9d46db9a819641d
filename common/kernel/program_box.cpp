// SPDX-License-Identifier: Apache-2.0
#include "kernel/program_box.h"

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "base/error.h"
#include "base/text.h"

namespace ogh {

namespace {

constexpr unsigned box_attributes =
    MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC;

void check_box(bool done, const std::string &what)
{
    if (!done)
        throw SystemError(errno, "cannot make a root without the host's files (" + what + ")",
                          ErrorKind::BrokenHost);
}

/** A new one, and no copy of what is mounted: over that others may have mounted anything. */
UniqueFd make_filesystem(const char *type)
{
    const std::string name(type);
    const UniqueFd context(::fsopen(type, FSOPEN_CLOEXEC));
    check_box(context.valid(), "fsopen " + name);
    // Of processes that are another user's nothing is there: 2, before Linux 5.8 had the word for it.
    if (name == "proc")
        check_box(::fsconfig(context.get(), FSCONFIG_SET_STRING, "hidepid", "2", 0) == 0, "hidepid");
    check_box(::fsconfig(context.get(), FSCONFIG_CMD_CREATE, nullptr, nullptr, 0) == 0, "a new " + name);
    UniqueFd root(::fsmount(context.get(), FSMOUNT_CLOEXEC, box_attributes));
    check_box(root.valid(), "fsmount " + name);
    return root;
}

std::string path_in_box(const std::string &path)
{
    return quote("/" + path);
}

std::vector<MountTree> copies_of(const std::vector<BoxEntry> &entries)
{
    std::vector<MountTree> copies;
    copies.reserve(entries.size());
    for (const BoxEntry &entry : entries)
        copies.emplace_back(
            entry.source,
            MountAttributes{
                .read_only = true, .has_nodes = true, .recursive = false, .further = MOUNT_ATTR_NOEXEC},
            path_in_box(entry.path));
    return copies;
}

} // namespace

ProgramBox::ProgramBox(const std::vector<BoxEntry> &entries) : copies_(copies_of(entries)), root_("")
{
    add(MountTree(make_filesystem("proc")), "proc");
    add(MountTree(make_filesystem("sysfs")), "sys");
    for (size_t i = 0; i < entries.size(); ++i)
        add(copies_[i], entries[i].path);
    mount_attr attr{};
    attr.attr_set = box_attributes;
    check_box(::mount_setattr(root_.fd(), "", AT_EMPTY_PATH, &attr, sizeof attr) == 0, "mount_setattr");
}

void ProgramBox::make_directories(const std::string &path) const
{
    for (size_t slash = path.find('/'); slash != std::string::npos; slash = path.find('/', slash + 1))
        check_box(::mkdirat(root_.fd(), path.substr(0, slash).c_str(), 0755) == 0 || errno == EEXIST,
                  "mkdir");
}

void ProgramBox::add(const MountTree &tree, const std::string &path) const
{
    make_directories(path);
    const UniqueFd place = root_.make(path, tree.is_directory() ? Kind::Directory : Kind::File);
    tree.attach(place.get(), path_in_box(path));
}

void ProgramBox::close() const
{
    check_box(::fchdir(root_.fd()) == 0, "fchdir");
    // Both names are the working directory, and so that what was the root lies over it: pivot_root(2).
    check_box(::syscall(SYS_pivot_root, ".", ".") == 0, "pivot_root");
    check_box(::umount2(".", MNT_DETACH) == 0, "umount");
}

} // namespace ogh
