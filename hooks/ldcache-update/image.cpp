// SPDX-License-Identifier: Apache-2.0
#include "ldcache-update/image.h"

#include <fcntl.h>

#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "base/path_names.h"
#include "base/text.h"
#include "edits/inner_path.h"
#include "kernel/inode.h"
#include "kernel/mount_table.h"
#include "kernel/openat2.h"
#include "kernel/tmpfs.h"
#include "ldcache-update/library_request.h"
#include "libraries/injected_directories.h"

namespace ogh::ldcache_update {

namespace {

constexpr size_t max_list_size = 65536;

/** The list of one of our tmpfs; "" if it has none, or something else is mounted over it. */
std::string read_list(const ImageReader &reader, const InnerMount &mount)
{
    const std::string what = quote(mount.path + "/" + directory_list_name) + " in the container";
    const auto top = reader.find(mount.path);
    if (!top || Inode::of(top->get(), what).mount_id != mount.id || !is_on_tmpfs(top->get()))
        return "";
    const auto list = find_path(top->get(), directory_list_name, O_PATH, Walk::OneStep, what);
    if (!list)
        return "";
    const Inode inode = Inode::of(list->get(), what);
    if (!inode.is(Kind::File) || inode.uid != 0)
        throw Error(ErrorKind::HostileContainer, what + " is not a plain file of the host's root");
    return read_all(reader.open(list->get(), inode, what).get(), max_list_size, what);
}

/**
 * The directories that hooks of this collection have put libraries in. Each of them mounts a tmpfs of its own, with the
 * source name `oci-gpu-hooks` in the mount table and a file `.oci-gpu-hooks/ld-directories` at its top: one directory a
 * line, at or below the place where the tmpfs is mounted; relative to that place, or absolute. No image can make such
 * a mount; a file of that name anywhere else is not looked at.
 * @param notes why a list is left out
 */
std::vector<std::string> listed_directories(ContainerView &view, Notes &notes)
{
    std::vector<std::string> directories;
    const auto mounts = view.mount_policy().mounts_of(injected_source, view.root().inode());
    const ImageReader reader = view.reader(ReadAs::Root);
    for (const InnerMount &mount : mounts) {
        try {
            for (const std::string &directory : parse_directory_list(read_list(reader, mount), mount.path))
                directories.push_back(directory);
        } catch (const Error &error) {
            notes.push_back({LogLevel::Warning, "the list of library directories at " + quote(mount.path) +
                                                    " cannot be used, ignoring: " + error.what()});
        }
    }
    return without_repeats(directories);
}

} // namespace

LoaderImage read_image(ContainerView &view, const LibraryRequest &request, Notes &notes)
{
    std::vector<std::string> listed;
    if (request.automatic)
        listed = listed_directories(view, notes);
    std::vector<std::string> directories = listed;
    directories.insert(directories.end(), request.directories.begin(), request.directories.end());
    directories = without_repeats(directories);
    if (directories.empty())
        return {};
    LoaderImage image = read_loader_image(view);
    image.libraries = read_injected_directories(view.reader(ReadAs::Process),
                                                {directories, request.directories, listed}, notes);
    image.directories = std::move(directories);
    return image;
}

std::optional<Request> asked_by_tree(const Container &container)
{
    // In createContainer the state has 0 or 1, which is another process here.
    if (container.pid < 2)
        return std::nullopt;
    try {
        const MountTable mounts(ProcFs().open_of(container.pid, "mountinfo").get());
        if (!mounts.ids_of_source(injected_source).empty())
            return Request{Asker::OtherHook, {"auto", "tree of another hook"}};
    } catch (const Error &) {
        return std::nullopt; // a container that asked for nothing is not stopped
    }
    return std::nullopt;
}

std::vector<std::string> parse_directory_list(std::string_view text, const std::string &mounted_at)
{
    const std::string top = mounted_at + "/";
    std::vector<std::string> directories;
    for (const std::string &line : split_list(text, '\n')) {
        if (line.empty())
            continue;
        const std::string directory = InnerPath::parse(line.starts_with('/') ? line : top + line).full();
        if (!is_at_or_below(directory, mounted_at))
            throw Error(ErrorKind::Failure,
                        "the directory " + quote(line) + " is not below " + quote(mounted_at));
        directories.push_back(directory);
    }
    if (directories.size() > max_directories)
        throw Error(ErrorKind::Failure,
                    "it has more than " + std::to_string(max_directories) + " directories");
    return without_repeats(directories);
}

} // namespace ogh::ldcache_update
