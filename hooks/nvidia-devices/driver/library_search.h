// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/log.h"
#include "loader/elf_file.h"
#include "loader/glibc_versions.h"
#include "nvidia-devices/driver/driver_root.h"
#include "nvidia-devices/driver/library_table.h"

namespace ogh::nvidia_devices {

/** A shared library of the driver, as this host has it. */
struct DriverLibrary {
    std::string file;      ///< its own name: "libcuda.so.555.42.07"
    std::string host_path; ///< as this process names it, without symlinks
    std::string soname;    ///< DT_SONAME; "" if it has none
    bool is_32 = false;    ///< for 32-bit programs
    GlibcVersions needed_glibc = {};

    bool operator==(const DriverLibrary &) const = default;
};

/** A library that the host's loader cache names. */
struct CachedLibrary {
    std::string name;         ///< "libcuda.so.1"
    std::string path;         ///< absolute below the driver's root; mostly a symlink
    std::int32_t machine = 0; ///< the machine's bits of its flags

    bool operator==(const CachedLibrary &) const = default;
};

/**
 * The libraries of library_names() that the loader cache below the driver's root has, of whatever version and machine,
 * in the cache's order.
 * @return nothing if there is none; NixOS, Talos and musl's hosts have none
 * @param notes says why one that is there is of no use
 */
std::vector<CachedLibrary> read_library_cache(const Sysroot &root, Notes &notes);

/** What the libraries of one kind of program are like, and where they are. */
struct LibraryMachine {
    std::uint16_t elf_machine = 0; ///< EM_*; EM_NONE where there is no driver for such programs
    bool is_64 = false;
    std::int32_t cache_flags = 0; ///< the machine's bits in a loader cache
    const char *triplet = "";     ///< what Debian calls the machine: "x86_64-linux-gnu"
    const char *loader = "";      ///< by which its programs name glibc's
};

/** The machines that the driver is made for, whichever one this is. */
struct DriverMachines {
    LibraryMachine native;
    LibraryMachine compat32; ///< the 32-bit programs that it can run
};

/** @param elf_machine EM_X86_64, EM_AARCH64; others have no driver */
const DriverMachines &driver_machines(std::uint16_t elf_machine);

/** Where to look if no loader cache tells: the narrower a directory is meant for the driver, the earlier. */
std::vector<std::string> usual_directories(const LibraryMachine &machine);

/** This machine's own programs. */
const LibraryMachine &native_machine();

/** The 32-bit programs that it can run. */
const LibraryMachine &compat32_machine();

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
    LibrarySearch(const Sysroot &root, const std::vector<CachedLibrary> &cache, const LibraryMachine &machine,
                  const std::string &version);

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

    const Sysroot &root_;
    const std::vector<CachedLibrary> &cache_;
    const LibraryMachine &machine_;
    const std::string &version_;
    std::deque<ResolvedPath> directories_; ///< a deque, so that adding one leaves the others where they are
    std::set<std::string> homes_;          ///< the directories that have libraries of the driver's version
    std::optional<UnusableLibrary> rejected_; ///< by the find() that goes on
    std::vector<UnusableLibrary> unusable_;
};

} // namespace ogh::nvidia_devices
