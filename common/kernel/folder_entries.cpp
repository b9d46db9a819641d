// SPDX-License-Identifier: Apache-2.0
#include "kernel/folder_entries.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <memory>

#include "base/unique_fd.h"

namespace ogh {

namespace {

struct CloseDirectory {
    void operator()(DIR *directory) const { ::closedir(directory); }
};

/** Filesystems may leave the type open; it is looked up then. */
unsigned char type_of(int folder, const dirent &entry)
{
    if (entry.d_type != DT_UNKNOWN)
        return entry.d_type;
    struct stat status {};
    if (::fstatat(folder, entry.d_name, &status, AT_SYMLINK_NOFOLLOW) != 0)
        return DT_UNKNOWN;
    return static_cast<unsigned char>(IFTODT(status.st_mode));
}

} // namespace

std::vector<FolderEntry> list_folder(int folder, const FolderListing &listing)
{
    const auto cannot_list = [&] { return SystemError(errno, "cannot list " + listing.what, listing.kind); };
    UniqueFd fd(::openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    const std::unique_ptr<DIR, CloseDirectory> directory(fd.valid() ? ::fdopendir(fd.get()) : nullptr);
    if (directory == nullptr)
        throw cannot_list();
    const int listed = fd.release(); // `directory` closes it
    std::vector<FolderEntry> entries;
    errno = 0;
    while (const dirent *entry = ::readdir(directory.get())) {
        if (listing.is_wanted(entry->d_name)) {
            if (listing.limit != 0 && entries.size() == listing.limit)
                throw Error(listing.kind, listing.what + " has more than " + std::to_string(listing.limit) +
                                              " entries to read");
            entries.push_back({entry->d_name, type_of(listed, *entry)});
        }
        errno = 0;
    }
    if (errno != 0)
        throw cannot_list();
    std::sort(entries.begin(), entries.end(),
              [](const FolderEntry &a, const FolderEntry &b) { return a.name < b.name; });
    return entries;
}

} // namespace ogh
