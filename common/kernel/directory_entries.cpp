// SPDX-License-Identifier: Apache-2.0
#include "kernel/directory_entries.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <memory>

#include "base/unique_fd.h"

namespace ogh {

namespace {

SystemError cannot_list(const DirectoryListing &listing)
{
    return {errno, "cannot list " + listing.what, listing.kind};
}

/** @return nullptr at the end */
const dirent *next_entry(DIR *stream, const DirectoryListing &listing)
{
    errno = 0;
    const dirent *const entry = ::readdir(stream);
    if (entry == nullptr && errno != 0)
        throw cannot_list(listing);
    return entry;
}

/** Filesystems may leave the type open; it is looked up then. */
unsigned char type_of(int directory, const dirent &entry)
{
    if (entry.d_type != DT_UNKNOWN)
        return entry.d_type;
    struct stat status {};
    if (::fstatat(directory, entry.d_name, &status, AT_SYMLINK_NOFOLLOW) != 0)
        return DT_UNKNOWN;
    return static_cast<unsigned char>(IFTODT(status.st_mode));
}

} // namespace

std::vector<DirectoryEntry> list_directory(int directory, const DirectoryListing &listing)
{
    UniqueFd fd(::openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    const std::unique_ptr<DIR, int (*)(DIR *)> stream(fd.valid() ? ::fdopendir(fd.get()) : nullptr,
                                                      ::closedir);
    if (!stream)
        throw cannot_list(listing);
    const int opened = fd.release(); // the stream's
    std::vector<DirectoryEntry> entries;
    while (const dirent *const entry = next_entry(stream.get(), listing)) {
        const std::string_view name = entry->d_name;
        if (listing.is_wanted ? !listing.is_wanted(name) : name == "." || name == "..")
            continue;
        if (listing.limit != 0 && entries.size() == listing.limit)
            throw Error(listing.kind, listing.what + " has more than " + std::to_string(listing.limit) +
                                          " entries to read");
        entries.push_back({entry->d_name, type_of(opened, *entry)});
    }
    std::sort(entries.begin(), entries.end(),
              [](const DirectoryEntry &a, const DirectoryEntry &b) { return a.name < b.name; });
    return entries;
}

} // namespace ogh
