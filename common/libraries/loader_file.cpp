// SPDX-License-Identifier: Apache-2.0
#include "libraries/loader_file.h"

#include <sys/stat.h>
#include <sys/xattr.h>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "edits/inner_path.h"
#include "kernel/inode.h"

namespace ogh {

namespace {

/**
 * The mode for a file of root's with the same content, which nobody may read who could not read the old one. A group
 * of another file is another group, and an ACL may say anything: then root alone reads it.
 */
mode_t mode_like(int opened, const Inode &old)
{
    const bool is_for_everyone = (old.mode & S_IROTH) != 0 && (old.mode & S_IRGRP) != 0;
    const bool has_acl = ::fgetxattr(opened, "system.posix_acl_access", nullptr, 0) >= 0;
    return is_for_everyone && !has_acl ? 0644 : 0600;
}

LoaderFile read(ContainerView &view, const std::string &path, size_t limit)
{
    LoaderFile file;
    const ImageReader reader = view.reader(ReadAs::Root);
    const auto found = reader.find(path);
    if (!found)
        return file;
    const std::string what = quote(path) + " in the container";
    const Inode inode = Inode::of(found->get(), what);
    file.is_mount = inode.mount_root;
    file.state = LoaderFile::State::Other;
    file.problem = reader.why_not_read(found->get(), inode);
    if (file.problem.empty() && inode.size > limit)
        file.problem = "is larger than " + std::to_string(limit) + " bytes";
    if (!file.problem.empty())
        return file;
    try {
        const UniqueFd opened = reader.open(found->get(), inode, what);
        file.content = read_all(opened.get(), limit, what, inode.size);
        file.mode = mode_like(opened.get(), inode);
        file.state = LoaderFile::State::Plain;
    } catch (const SystemError &error) {
        file.problem = std::string("cannot be read by the container's root: ") + error.what();
    }
    return file;
}

} // namespace

LoaderFile read_loader_file(ContainerView &view, const std::string &path, size_t limit)
{
    LoaderFile file = read(view, path, limit);
    file.why_not_replace = view.mount_policy().why_not_make(InnerPath::parse(path).parent, view.root());
    return file;
}

bool can_be_in_loader_files(std::string_view folder)
{
    constexpr std::string_view separators = ":;\n\t\v\f\r =#";
    return folder.find_first_of(separators) == std::string_view::npos;
}

} // namespace ogh
