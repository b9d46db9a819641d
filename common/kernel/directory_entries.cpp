// SPDX-License-Identifier: Apache-2.0
#include "kernel/directory_entries.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "base/unique_fd.h"

namespace ogh {

namespace {

SystemError cannot_list(const DirectoryListing &listing)
{
    return {errno, "cannot list " + listing.what, listing.kind};
}

/** The kernel's own records, without what opendir(3) asks and allocates besides. */
class RawEntries final {
public:
    RawEntries(int directory, const DirectoryListing &listing) : directory_(directory), listing_(listing) {}

    /** @return nullptr at the end */
    const dirent64 *next()
    {
        if (at_ == size_) {
            const ssize_t got = ::getdents64(directory_, bytes_.data(), bytes_.size());
            if (got < 0)
                throw cannot_list(listing_);
            size_ = static_cast<size_t>(got);
            at_ = 0;
        }
        if (size_ == 0)
            return nullptr;
        const auto *const entry = reinterpret_cast<const dirent64 *>(bytes_.data() + at_);
        at_ += entry->d_reclen;
        return entry;
    }

private:
    int directory_;
    const DirectoryListing &listing_;
    size_t size_ = 0;
    size_t at_ = 0;
    alignas(dirent64) std::array<char, 8192> bytes_{};
};

/** Filesystems may leave the type open; it is looked up then. */
unsigned char type_of(int directory, const dirent64 &entry)
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
    const UniqueFd fd(::openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!fd.valid())
        throw cannot_list(listing);
    RawEntries raw(fd.get(), listing);
    std::vector<DirectoryEntry> entries;
    while (const dirent64 *const entry = raw.next()) {
        if (!listing.is_wanted(entry->d_name))
            continue;
        if (listing.limit != 0 && entries.size() == listing.limit)
            throw Error(listing.kind, listing.what + " has more than " + std::to_string(listing.limit) +
                                          " entries to read");
        entries.push_back({entry->d_name, type_of(fd.get(), *entry)});
    }
    std::sort(entries.begin(), entries.end(),
              [](const DirectoryEntry &a, const DirectoryEntry &b) { return a.name < b.name; });
    return entries;
}

} // namespace ogh
