// SPDX-License-Identifier: Apache-2.0
#include "libraries/loader_file.h"

#include <sys/stat.h>
#include <sys/xattr.h>

#include <optional>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "edits/inner_path.h"
#include "image/c_library.h"
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

/** A link that leads to itself, a file where a directory should be. @throws SystemError for what is the host's fault */
LoaderFile unreadable(const SystemError &error)
{
    if (error.kind() != ErrorKind::Failure)
        throw SystemError(error);
    LoaderFile file;
    file.state = LoaderFile::State::Other;
    file.problem = std::string("cannot be read: ") + error.what();
    return file;
}

LoaderFile read(ContainerView &view, const std::string &path, size_t limit)
{
    LoaderFile file;
    const ImageReader reader = view.reader(ReadAs::Root);
    std::optional<UniqueFd> found;
    try {
        found = reader.find(path);
    } catch (const SystemError &error) {
        file = unreadable(error);
    }
    if (!found)
        return file;
    const std::string what = quote(path) + " in the container";
    const Inode inode = Inode::of(found->get(), what);
    if (inode.mount_root)
        file.why_not_replace = "something is mounted on it";
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

constexpr size_t max_cache_size = size_t{16} << 20U;
constexpr size_t max_text_size = size_t{1} << 20U;

} // namespace

LoaderFile read_loader_file(ContainerView &view, const std::string &path, size_t limit)
{
    LoaderFile file = read(view, path, limit);
    const InnerPath inner = InnerPath::parse(path);
    try {
        file.has_leftover = view.reader(ReadAs::Root).find(inner.temporary().full()).has_value();
        const std::string why = view.mount_policy().why_not_make(inner.parent, view.root());
        if (!why.empty())
            file.why_not_replace = why;
    } catch (const SystemError &error) {
        file.why_not_replace = unreadable(error).problem;
    }
    return file;
}

bool can_be_in_loader_files(std::string_view directory)
{
    constexpr std::string_view separators = ":;\n\t\v\f\r =#";
    return directory.find_first_of(separators) == std::string_view::npos;
}

LoaderImage read_loader_image(ContainerView &view)
{
    LoaderImage image;
    std::vector<std::string> machines;
    { // One reader at a time: this one sees what the container's process may see.
        const ImageReader reader = view.reader(ReadAs::Process);
        image.has_glibc = has_glibc(reader);
        machines = musl_machines(reader);
        image.without_cache = places_without_cache(reader);
    }
    if (image.has_glibc) {
        image.cache = read_loader_file(view, loader_cache_path, max_cache_size);
        image.conf = read_loader_file(view, loader_conf_path, max_text_size);
        image.own_conf = read_loader_file(view, own_loader_conf_path, max_text_size);
    }
    // musl names its path file after the machine, as its loader (musl, ldso/dynlink.c).
    for (const std::string &machine : machines) {
        const std::string path = "/etc/ld-musl-" + machine + ".path";
        image.musl.push_back({path, read_loader_file(view, path, max_text_size)});
    }
    return image;
}

} // namespace ogh
