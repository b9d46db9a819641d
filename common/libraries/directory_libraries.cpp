// SPDX-License-Identifier: Apache-2.0
#include "libraries/directory_libraries.h"

#include <elf.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "base/text.h"
#include "libraries/cache_order.h"
#include "loader/ld_cache_format.h"

namespace ogh {

using namespace ld_cache_format;

namespace {

/** A file, under the name by which the loader would ask for it. */
struct Candidate {
    const FoundFile *file = nullptr;
    bool is_link = false; ///< an alias that is to be one, and not a library with an odd name
};

using Key = std::pair<std::string, std::int32_t>; ///< name and flags

/** `libx.so` for the linker, beside a SONAME `libx.so.1`. */
bool is_development_link(const std::string &name, const std::string &soname)
{
    return name.ends_with(".so") && soname.starts_with(name);
}

bool is_better(const Candidate &candidate, const Candidate &than, std::int32_t flags)
{
    if (candidate.is_link != than.is_link)
        return than.is_link;
    return compare_names(candidate.file->name, than.file->name, char_sign(flags)) > 0;
}

std::string directory_path(const std::string &directory, const std::string &subdirectory)
{
    return subdirectory.empty() ? directory : directory + "/glibc-hwcaps/" + subdirectory;
}

/**
 * The best file for each key.
 * @param files in the order of their names, or of equal versions one would be chosen by chance
 * @param foreign gets those for machines that are not known here
 */
std::map<Key, Candidate> choose(const std::vector<const FoundFile *> &files,
                                std::vector<const FoundFile *> &foreign)
{
    std::map<Key, Candidate> chosen;
    for (const FoundFile *file : files) {
        const auto flags = library_flags(file->library);
        if (!flags) {
            foreign.push_back(file);
            continue;
        }
        const std::string &soname = file->library.soname.empty() ? file->name : file->library.soname;
        const bool is_alias =
            file->is_link && (file->name == soname || is_development_link(file->name, soname));
        const Candidate candidate{file, is_alias};
        const auto [place, is_new] = chosen.try_emplace({is_alias ? file->name : soname, *flags}, candidate);
        if (!is_new && is_better(candidate, place->second, *flags))
            place->second = candidate;
    }
    return chosen;
}

/** One warning for all of them: there may be any number. */
void note_foreign(const std::vector<const FoundFile *> &foreign, const std::string &directory, Notes &notes)
{
    if (foreign.empty())
        return;
    std::string text = quote(directory + "/" + foreign.front()->name) +
                       " is left out: it is for another kind of machine (ELF number " +
                       std::to_string(foreign.front()->library.machine) + ")";
    if (const size_t more = foreign.size() - 1; more > 0)
        text += more == 1 ? "; so is 1 more file beside it"
                          : "; so are " + std::to_string(more) + " more files beside it";
    notes.push_back({LogLevel::Warning, text});
}

/** Whether the directory has the file under this name too. */
bool has_name(const std::vector<const FoundFile *> &files, const std::string &name, const FoundFile &file)
{
    const auto found = std::lower_bound(
        files.begin(), files.end(), name,
        [](const FoundFile *each, const std::string &wanted) { return each->name < wanted; });
    return found != files.end() && (*found)->name == name && (*found)->device == file.device &&
           (*found)->inode == file.inode;
}

bool is_temporary_name(std::string_view name)
{
    constexpr std::string_view prelink = ".#prelink#";
    constexpr size_t random_part = 7; // ".XXXXXX"
    if (name.find(';') != std::string_view::npos || name.ends_with(".dpkg-new") ||
        name.ends_with(".dpkg-tmp") || name.ends_with("-gdb.py") || name.ends_with(prelink))
        return true;
    return name.size() > random_part && name.substr(name.size() - random_part).starts_with('.') &&
           name.substr(0, name.size() - random_part).ends_with(prelink);
}

/** Libraries that do not say how they pass floating-point numbers go with either way. */
std::int32_t arm_flags(std::uint32_t processor_flags)
{
    if ((processor_flags & EF_ARM_EABIMASK) != EF_ARM_EABI_VER5)
        return flags_libc6;
    if ((processor_flags & EF_ARM_ABI_FLOAT_HARD) != 0)
        return flags_libc6 | flags_arm_hard_float;
    if ((processor_flags & EF_ARM_ABI_FLOAT_SOFT) != 0)
        return flags_libc6 | flags_arm_soft_float;
    return flags_libc6;
}

} // namespace

bool is_library_name(std::string_view name)
{
    const bool is_library =
        (name.starts_with("lib") || name.starts_with("ld-")) && name.find(".so") != std::string_view::npos;
    const bool is_loader = name.starts_with("ld.so.") || name.starts_with("ld64.so.");
    return (is_library || is_loader) && !is_temporary_name(name);
}

std::vector<AddedLibrary> choose_libraries(const std::string &directory, const std::string &subdirectory,
                                           const std::vector<FoundFile> &files, Notes &notes)
{
    const std::string path = directory_path(directory, subdirectory);
    std::vector<const FoundFile *> sorted;
    sorted.reserve(files.size());
    for (const FoundFile &file : files)
        sorted.push_back(&file);
    std::sort(sorted.begin(), sorted.end(),
              [](const FoundFile *a, const FoundFile *b) { return a->name < b->name; });
    std::vector<const FoundFile *> foreign;
    std::vector<AddedLibrary> added;
    for (const auto &[key, candidate] : choose(sorted, foreign)) {
        const auto &[name, flags] = key;
        const FoundFile &file = *candidate.file;
        const bool by_name = subdirectory.empty() && has_name(sorted, name, file);
        added.push_back(
            {name, path + "/" + (by_name ? name : file.name), flags, file.library.os_version, subdirectory});
    }
    note_foreign(foreign, path, notes);
    return added;
}

void add_file_names(const std::string &directory, const std::vector<FoundFile> &files,
                    std::vector<AddedLibrary> &libraries)
{
    std::set<Key> known;
    for (const AddedLibrary &library : libraries)
        known.emplace(library.name, library.flags);
    for (const FoundFile &file : files) {
        const auto flags = library_flags(file.library);
        if (flags && known.emplace(file.name, *flags).second)
            libraries.push_back(
                {file.name, directory + "/" + file.name, *flags, file.library.os_version, ""});
    }
}

std::optional<std::int32_t> library_flags(const ElfLibrary &library)
{
    if (library.machine == EM_X86_64)
        return flags_libc6 | (library.is_64 ? flags_x86_64 : flags_x32);
    if (library.machine == EM_386 && !library.is_64)
        return flags_libc6;
    if (library.machine == EM_AARCH64 && library.is_64)
        return flags_libc6 | flags_aarch64;
    if (library.machine == EM_ARM && !library.is_64)
        return arm_flags(library.processor_flags);
    if (library.machine == EM_PPC64 && library.is_64)
        return flags_libc6 | flags_ppc64;
    return std::nullopt;
}

} // namespace ogh
