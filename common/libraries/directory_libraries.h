// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/log.h"
#include "loader/elf_file.h"

namespace ogh {

/** A library in a directory. */
struct FoundFile {
    std::string name;
    bool is_link = false; ///< a symlink; all that follows is of what it leads to
    dev_t device = 0;
    ino_t inode = 0;
    ElfLibrary library;
};

/** An entry that the cache is to have. */
struct AddedLibrary {
    std::string name;
    std::string path;
    std::int32_t flags = 0;
    std::uint32_t os_version = 0;
    std::string subdirectory; ///< the name below glibc-hwcaps; "" if it is not below one

    bool operator==(const AddedLibrary &) const = default;
};

/**
 * Whether ldconfig would look into a file of this name: `lib*.so*`, `ld-*.so*`, `ld.so.*` and `ld64.so.*`, but not
 * what package managers and prelink leave for a moment, nor gdb's scripts.
 */
bool is_library_name(std::string_view name);

/**
 * The entries for the libraries of one directory, by ldconfig's rules. The name is the SONAME, or the file's own name
 * if there is none; a development link (`libx.so` beside a SONAME `libx.so.1`) has an entry of its own. Of several
 * files with one SONAME and machine, real files are preferred to links, then the higher version. The path names the
 * SONAME if a file of that name is there and is the same, so that it survives an update, and otherwise the file.
 * @param directory absolute, without a slash at the end
 * @param subdirectory the name of one below DIRECTORY/glibc-hwcaps, whose files these are; then paths name the files
 *        themselves. "" for the directory itself
 * @param notes gets a warning if there are libraries of a machine that is not known here
 * @return in the order of names and flags
 */
std::vector<AddedLibrary> choose_libraries(const std::string &directory, const std::string &subdirectory,
                                           const std::vector<FoundFile> &files, Notes &notes);

/**
 * Adds an entry for each file and link of a directory whose own name has none: ldconfig knows a library by its SONAME,
 * and some are asked for by another name. Found by these, too, it is as in a directory that the loader itself looks
 * into.
 * @param libraries what choose_libraries() has given for the directory
 */
void add_file_names(const std::string &directory, const std::vector<FoundFile> &files,
                    std::vector<AddedLibrary> &libraries);

/**
 * The flags by which the loader of the library's own machine knows it in a cache, whatever machine this is. For
 * libc 6, as ldconfig has it for every library of today.
 * @return nothing for a machine that is not known here
 */
std::optional<std::int32_t> library_flags(const ElfLibrary &library);

} // namespace ogh
