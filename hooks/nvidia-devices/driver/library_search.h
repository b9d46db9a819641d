// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "loader/elf_library.h"
#include "nvidia-devices/driver/driver_file.h"
#include "nvidia-devices/driver/driver_root.h"
#include "nvidia-devices/driver/library_cache.h"
#include "nvidia-devices/driver/library_machine.h"
#include "nvidia-devices/driver/library_table.h"

namespace ogh::nvidia_devices {

/** What a file of the driver says of itself. */
struct LibraryFile {
    ElfLibrary elf;
    GlibcVersions needed_glibc;
};

/** Why a file that has a library's name is none which this machine's programs can load. */
struct NotUsable {
    std::string why;         ///< what reads well behind "is left out: ", with what to do about it
    bool is_foreign = false; ///< it is another machine's, and in order
};

using ReadLibrary = std::variant<LibraryFile, NotUsable>;

/** A library that has the right name and version, and that find() had to do without. */
struct UnusableLibrary {
    std::string name; ///< LibraryName::name
    std::string host_path;
    NotUsable reason;
};

/**
 * Finds the driver's libraries for programs of one kind.
 *
 * A directory where one was found most likely has the next one too, where its full name is tried: one system call. Else
 * the loader cache says where, and if that has nothing of the driver's, a list of directories.
 */
class LibrarySearch final {
public:
    /**
     * @param cache what read_library_cache() has found
     * @param version of the kernel module
     * All must outlive this.
     */
    LibrarySearch(const DriverRoot &root, const std::vector<CachedLibrary> &cache,
                  const LibraryMachine &machine, const std::string &version);

    /** @return nothing if there is none of the right version and machine. @throws Error if looking itself fails */
    std::optional<DriverLibrary> find(const LibraryName &library);

    /**
     * Those with this driver's version in the directories where find() has found such, that no table names: of a driver that
     * is newer than the tables. Sorted by name in each directory.
     * @throws Error if looking fails
     */
    [[nodiscard]] std::vector<DriverLibrary> others() const;

    /** The directories that were looked at up to now, below the root; the most fruitful first. */
    [[nodiscard]] std::vector<std::string> directories() const;

    /** The file of that library for another version than the kernel module's: "libcuda.so.560.10.01"; "" if none. */
    [[nodiscard]] std::string other_version(std::string_view name) const;

    /** The file of the right version in one of the usual directories, as the loader cache does not have it; "" if none. */
    [[nodiscard]] std::string not_cached(std::string_view name) const;

    /** Of all that find() was asked for and has not found. */
    [[nodiscard]] const std::vector<UnusableLibrary> &unusable() const { return unusable_; }

private:
    struct WantedLibrary;

    const ResolvedPath *add_directory(const std::string &path);
    /** Debian's packages of older drivers, "tesla-470" or "legacy-390xx", each in a directory beside that of the current one. */
    void add_flavours(const std::string &path);
    std::optional<DriverLibrary> in_directories(const WantedLibrary &wanted, size_t first);
    std::optional<DriverLibrary> in_directory(const ResolvedPath &directory, const WantedLibrary &wanted);
    std::optional<DriverLibrary> through_cache(const WantedLibrary &wanted);
    std::optional<DriverLibrary> in_subdirectories(const WantedLibrary &wanted,
                                                   std::string_view subdirectory);
    std::optional<DriverLibrary> resolve(const std::string &path, const WantedLibrary &wanted);
    std::optional<DriverLibrary> take(const ResolvedPath &directory, const std::string &file,
                                      const ReadLibrary &read, const WantedLibrary &wanted);
    void reject(const ResolvedPath &directory, const std::string &file, const NotUsable &reason);
    void prefer(const std::string &path);
    [[nodiscard]] DriverLibrary describe(const ResolvedPath &directory, const std::string &file,
                                         const LibraryFile &library) const;

    const DriverRoot &root_;
    const std::vector<CachedLibrary> &cache_;
    const LibraryMachine &machine_;
    const std::string &version_;
    std::deque<ResolvedPath> directories_; ///< a deque, so that adding one leaves the others where they are
    std::set<std::string> homes_;          ///< the directories that have libraries of the driver's version
    std::optional<UnusableLibrary> rejected_; ///< by the find() that goes on
    std::vector<UnusableLibrary> unusable_;
};

} // namespace ogh::nvidia_devices
