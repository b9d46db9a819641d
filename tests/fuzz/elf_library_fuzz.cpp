// SPDX-License-Identifier: Apache-2.0
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

#include "base/little_endian.h"
#include "base/unique_fd.h"
#include "libraries/directory_libraries.h"
#include "loader/elf_file.h"
#include "loader/glibc_versions.h"
#include "promise.h"
#include "target.h"

namespace ogh::fuzz::elf_library {

namespace {

UniqueFd file_of(std::string_view bytes)
{
    UniqueFd fd(::memfd_create("library", MFD_CLOEXEC));
    if (!fd.valid() || ::write(fd.get(), bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size()))
        throw std::system_error(errno, std::generic_category(), "memfd");
    return fd;
}

void check_library(const ElfLibrary &library, std::string_view input)
{
    require(input.size() >= 52 && input.starts_with("\x7f"
                                                    "ELF"),
            "a library is an ELF file");
    require(input[5] == 1 && load_little_endian<std::uint16_t>(input, 16) == 3,
            "of this byte order, and shared");
    require(library.is_64 == (input[4] == 2), "the class is what the file says");
    require(library.machine == load_little_endian<std::uint16_t>(input, 18),
            "the machine is what the file says");
    require(library.processor_flags == load_little_endian<std::uint32_t>(input, library.is_64 ? 48 : 36),
            "the machine's flags are what the file says");
    const bool is_name = std::all_of(library.soname.begin(), library.soname.end(), [](char c) {
        return c != '/' && static_cast<unsigned char>(c) >= 0x20 && c != 0x7F;
    });
    require(is_name && library.soname.size() <= 255, "a SONAME can be a file's name");
    require(input.find(library.soname + '\0') != std::string_view::npos, "the SONAME is in the file");
}

void check_choice(const ElfLibrary &library)
{
    const std::vector<FoundFile> files = {{"libx.so", true, 1, 2, library},
                                          {"libx.so.1.2", false, 1, 2, library}};
    for (const std::string subdirectory : {"", "v2"}) {
        Notes notes;
        const auto chosen = choose_libraries("/d", subdirectory, files, notes);
        require(chosen.empty() == !library_flags(library).has_value(), "a known machine has entries");
        require(chosen.empty() == !notes.empty(), "another one has a note");
        for (const AddedLibrary &each : chosen) {
            const std::string directory = subdirectory.empty() ? "/d/" : "/d/glibc-hwcaps/v2/";
            require(each.path == directory + "libx.so" || each.path == directory + "libx.so.1.2",
                    "a path is that of a file");
            require(!each.name.empty() && each.os_version == library.os_version, "an entry has a name");
        }
    }
}

void check_versions(int fd, std::string_view input)
{
    for (const auto read : {needed_glibc, defined_glibc}) {
        const auto versions = read(fd);
        require(versions == read(fd), "a file can be read again");
        if (!versions)
            continue;
        require(*versions == GlibcVersions{} || input.find("GLIBC_") != std::string_view::npos,
                "versions are in the file");
        for (const std::string &mark : versions->marks)
            require(mark.starts_with("GLIBC_") && input.find(mark) != std::string_view::npos,
                    "a mark is in the file");
        require(versions->lacking(*versions).empty(), "what is there is not lacking");
    }
}

} // namespace

void check(std::string_view input)
{
    const UniqueFd file = file_of(input);
    check_versions(file.get(), input);
    const auto result = read_elf_library(file.get());
    require(::lseek(file.get(), 0, SEEK_CUR) == static_cast<off_t>(input.size()), "the offset stays");
    if (const auto *problem = std::get_if<NotALibrary>(&result)) {
        require(!problem->why.empty() && is_one_clean_line(problem->why), "a reason is one clean line");
        return;
    }
    check_library(std::get<ElfLibrary>(result), input);
    check_choice(std::get<ElfLibrary>(result));
    require(std::get<ElfLibrary>(read_elf_library(file.get())) == std::get<ElfLibrary>(result),
            "a file can be read again");
}

} // namespace ogh::fuzz::elf_library
