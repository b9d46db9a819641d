// SPDX-License-Identifier: Apache-2.0
#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <stdexcept>

#include <boost/test/unit_test.hpp>

#include "base/error.h"
#include "base/unique_fd.h"
#include "loader/elf_file.h"
#include "support/elf_image.h"
#include "support/temp_directory.h"

BOOST_AUTO_TEST_SUITE(elf_library)

using namespace ogh;
using ogh::test::ElfImage;
using ogh::test::patch;
using ogh::test::TempDirectory;

namespace {

UniqueFd file_of(const std::string &bytes)
{
    UniqueFd fd(::memfd_create("library", MFD_CLOEXEC));
    if (!fd.valid() || ::write(fd.get(), bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size()))
        throw std::runtime_error("memfd");
    return fd;
}

std::variant<ElfLibrary, NotALibrary> read(const std::string &bytes)
{
    return read_elf_library(file_of(bytes).get());
}

/** Why it is left out; "" if it is a library. */
std::string why(const std::string &bytes)
{
    const auto result = read(bytes);
    const auto *problem = std::get_if<NotALibrary>(&result);
    return problem == nullptr ? "" : problem->why;
}

ElfLibrary library(const std::string &bytes)
{
    const auto result = read(bytes);
    if (const auto *problem = std::get_if<NotALibrary>(&result))
        throw std::runtime_error(problem->why);
    return std::get<ElfLibrary>(result);
}

std::string soname_of(const std::string &soname)
{
    ElfImage image;
    image.soname = soname;
    return library(image.bytes()).soname;
}

constexpr const char *cut_short = "it is cut short";
constexpr const char *outside = "its SONAME lies outside of it";

template<typename Number> std::string patched(const ElfImage &image, size_t at, Number number)
{
    std::string bytes = image.bytes();
    patch(bytes, at, number);
    return bytes;
}

} // namespace

BOOST_AUTO_TEST_CASE(libraries_of_both_classes_are_read)
{
    ElfImage image;
    BOOST_TEST((library(image.bytes()) == ElfLibrary{true, EM_X86_64, 0, "libx.so.1", 0x00030200}));
    image.is_64 = false;
    image.machine = EM_ARM;
    image.processor_flags = 0x5000400;
    image.soname = "liby.so";
    BOOST_TEST((library(image.bytes()) == ElfLibrary{false, EM_ARM, 0x5000400, "liby.so", 0x00030200}));
}

BOOST_AUTO_TEST_CASE(a_library_needs_neither_a_soname_nor_a_note)
{
    for (const bool is_64 : {true, false}) {
        ElfImage image;
        image.is_64 = is_64;
        image.soname.reset();
        image.abi.reset();
        const ElfLibrary read = library(image.bytes());
        BOOST_TEST(read.soname.empty());
        BOOST_TEST(read.os_version == 0U);
    }
}

BOOST_AUTO_TEST_CASE(what_cannot_be_a_file_name_is_no_soname)
{
    BOOST_TEST(soname_of("").empty());
    BOOST_TEST(soname_of("../libx.so").empty());
    BOOST_TEST(soname_of("/usr/lib/libx.so").empty());
    BOOST_TEST(soname_of("lib\nx.so").empty());
    BOOST_TEST(soname_of("lib\x7fx.so").empty());
    BOOST_TEST(soname_of("lib x\xff.so") == "lib x\xff.so");
}

BOOST_AUTO_TEST_CASE(a_soname_is_at_most_255_bytes_long)
{
    const std::string longest(255, 'x');
    BOOST_TEST(soname_of(longest) == longest);
    ElfImage image;
    image.soname = longest + "x";
    BOOST_TEST(why(image.bytes()) == "its SONAME is longer than a file name can be");
}

BOOST_AUTO_TEST_CASE(a_soname_ends_before_the_file_does)
{
    ElfImage image;
    std::string bytes = image.bytes();
    bytes.back() = 'x'; // was the NUL
    BOOST_TEST(why(bytes) == cut_short);
    const size_t entry = image.dynamic_at() + 2 * image.entry_size();
    const size_t last = image.bytes().size() - 1;
    BOOST_TEST(library(patched(image, entry + 8, std::uint64_t{last - image.strings_at()})).soname.empty());
    BOOST_TEST(why(patched(image, entry + 8, std::uint64_t{last + 1 - image.strings_at()})) == outside);
    BOOST_TEST(why(patched(image, entry + 8, UINT64_MAX)) == outside);
}

BOOST_AUTO_TEST_CASE(strings_are_found_through_the_segment_that_maps_them)
{
    const ElfImage image;
    const size_t strings = image.dynamic_at() + 3 * image.entry_size() + 8;
    const std::uint64_t zero =
        ElfImage::base - ElfImage::soname_offset(); // the SONAME would be the first byte
    BOOST_TEST(why(patched(image, strings, zero - 1)) == outside);
    BOOST_TEST(library(patched(image, strings, zero)).soname.empty()); // "\x7f" "ELF" can be no name
    BOOST_TEST(library(patched(image, strings, zero + image.soname_at() + 1)).soname == "ibx.so.1");
    BOOST_TEST(why(patched(image, strings, UINT64_MAX)) == outside);
    BOOST_TEST(why(patched(image, strings - 8, std::uint64_t{DT_HASH})) == outside);
}

BOOST_AUTO_TEST_CASE(the_first_of_two_sonames_counts)
{
    ElfImage image;
    std::string bytes = image.bytes();
    patch(bytes, image.dynamic_at(), std::uint64_t{DT_SONAME});
    patch(bytes, image.dynamic_at() + 8, std::uint64_t{ElfImage::soname_offset() + 1});
    BOOST_TEST(library(bytes).soname == "ibx.so.1");
}

BOOST_AUTO_TEST_CASE(nothing_counts_behind_the_end_of_the_dynamic_section)
{
    const ElfImage image;
    BOOST_TEST(library(patched(image, image.dynamic_at(), std::uint64_t{DT_NULL})).soname.empty());
    const std::uint64_t two_entries = 2 * image.entry_size();
    BOOST_TEST(library(patched(image, image.size_at(ElfImage::Dynamic), two_entries)).soname.empty());
}

BOOST_AUTO_TEST_CASE(a_long_dynamic_section_is_read_up_to_a_limit)
{
    for (const bool is_64 : {true, false}) {
        ElfImage image;
        image.is_64 = is_64;
        image.needed = 510; // SONAME and strings are the last two of 512
        BOOST_TEST(library(image.bytes()).soname == "libx.so.1");
        image.needed = 511;
        BOOST_TEST(why(image.bytes()) == "its dynamic section is too long");
    }
}

BOOST_AUTO_TEST_CASE(what_is_no_elf_library_is_left_out)
{
    BOOST_TEST(why("") == "it is empty");
    BOOST_TEST(why("\x7f"
                   "EL") == "it is no ELF file");
    BOOST_TEST(why("/* GNU ld script */\nGROUP ( libx.so.1 )\n") == "it is no ELF file");
    const ElfImage image;
    BOOST_TEST(why(patched(image, 0, std::uint8_t{0x7e})) == "it is no ELF file");
    BOOST_TEST(why(patched(image, EI_CLASS, std::uint8_t{3})) == "it is of an unknown ELF class");
    BOOST_TEST(why(patched(image, EI_CLASS, std::uint8_t{0})) == "it is of an unknown ELF class");
    BOOST_TEST(why(patched(image, EI_DATA, std::uint8_t{ELFDATA2MSB})) ==
               "it is for machines of another byte order");
    BOOST_TEST(why(patched(image, EI_VERSION, std::uint8_t{2})) == "it is of an unknown ELF version");
    for (const unsigned type : {0U, 1U, 2U, 4U, 0x300U})
        BOOST_TEST(why(patched(image, 16, static_cast<std::uint16_t>(type))) == "it is no shared library");
}

BOOST_AUTO_TEST_CASE(program_headers_are_bounded)
{
    const ElfImage image;
    constexpr size_t offset = offsetof(Elf64_Ehdr, e_phoff);
    constexpr size_t size = offsetof(Elf64_Ehdr, e_phentsize);
    constexpr size_t count = offsetof(Elf64_Ehdr, e_phnum);
    for (const unsigned each : {0U, 55U, 57U, 0xFFFFU})
        BOOST_TEST(why(patched(image, size, static_cast<std::uint16_t>(each))) ==
                   "its program headers are of an unknown size");
    BOOST_TEST(why(patched(image, count, std::uint16_t{65})) == "it has more than 64 program headers");
    BOOST_TEST(why(patched(image, count, std::uint16_t{0xFFFF})) == "it has more than 64 program headers");
    BOOST_TEST(why(patched(image, count, std::uint16_t{64})) == cut_short);
    BOOST_TEST(why(patched(image, count, std::uint16_t{0})) == "it has no dynamic section");
    BOOST_TEST(why(patched(image, count, std::uint16_t{1})) == "it has no dynamic section");
    BOOST_TEST(why(patched(image, offset, UINT64_MAX)) == cut_short);
    BOOST_TEST(why(patched(image, offset, std::uint64_t{INT64_MAX} - 100)) == cut_short);
    const std::uint64_t size_of_all = ElfImage::SegmentCount * image.segment_size();
    BOOST_TEST(why(patched(image, offset, image.bytes().size() - size_of_all + 1)) == cut_short);
}

BOOST_AUTO_TEST_CASE(program_headers_may_lie_anywhere)
{
    const ElfImage image;
    std::string bytes = image.bytes();
    const std::string headers = bytes.substr(64, ElfImage::SegmentCount * image.segment_size());
    patch(bytes, offsetof(Elf64_Ehdr, e_phoff), std::uint64_t{5000});
    bytes.resize(5000);
    BOOST_TEST(library(bytes + headers).soname == "libx.so.1");
}

BOOST_AUTO_TEST_CASE(what_is_mapped_must_be_there)
{
    for (const bool is_64 : {true, false}) {
        ElfImage image;
        image.is_64 = is_64;
        const std::string bytes = image.bytes();
        for (size_t size = 0; size < bytes.size(); size++)
            BOOST_TEST(why(bytes.substr(0, size)) == (size == 0  ? "it is empty"
                                                      : size < 4 ? "it is no ELF file"
                                                                 : cut_short));
    }
    const ElfImage image;
    BOOST_TEST(why(patched(image, image.size_at(ElfImage::Load), UINT64_MAX)) == cut_short);
    BOOST_TEST(why(patched(image, image.offset_at(ElfImage::Load), UINT64_MAX)) == cut_short);
    BOOST_TEST(why(patched(image, image.offset_at(ElfImage::Load), std::uint64_t{1})) == cut_short);
}

BOOST_AUTO_TEST_CASE(a_dynamic_section_outside_of_the_file_is_cut_short)
{
    const ElfImage image;
    const size_t offset = image.offset_at(ElfImage::Dynamic);
    for (const std::uint64_t at :
         {UINT64_MAX, UINT64_MAX - 64, std::uint64_t{INT64_MAX}, std::uint64_t{1} << 40U})
        BOOST_TEST(why(patched(image, offset, at)) == cut_short);
}

BOOST_AUTO_TEST_CASE(the_abi_note_is_found_among_others)
{
    for (const size_t padding : {0U, 4000U}) {
        ElfImage image;
        image.note_padding = padding;
        image.notes = ElfImage::note(3, "GNU", std::string(20, 'b')) + ElfImage::note(1, "Other", "x") +
                      ElfImage::note(1, "GNX", std::string(16, '\1'));
        image.abi = {1, 2, 0x103, 255};
        BOOST_TEST(library(image.bytes()).os_version == 0x010203FFU);
    }
}

BOOST_AUTO_TEST_CASE(notes_may_be_aligned_to_8)
{
    ElfImage image;
    image.notes = ElfImage::note(5, "GNU", "x", 8);
    std::string bytes = image.bytes();
    patch(bytes, image.alignment_at(ElfImage::Note), std::uint64_t{8});
    BOOST_TEST(library(bytes).os_version == 0x00030200U);
    patch(bytes, image.alignment_at(ElfImage::Note),
          std::uint64_t{4}); // the second one is not where it should be
    BOOST_TEST(library(bytes).os_version == 0U);
}

BOOST_AUTO_TEST_CASE(broken_notes_do_not_matter)
{
    const ElfImage image;
    const size_t size = image.size_at(ElfImage::Note);
    BOOST_TEST(library(patched(image, size, std::uint64_t{31})).os_version == 0U);
    BOOST_TEST(library(patched(image, size, std::uint64_t{32})).os_version == 0x00030200U);
    BOOST_TEST(library(patched(image, size, UINT64_MAX)).os_version == 0x00030200U);
    BOOST_TEST(library(patched(image, image.offset_at(ElfImage::Note), UINT64_MAX)).os_version == 0U);
    for (const std::uint32_t huge : {0xFFFFFFFFU, 0xFFFFFFF4U, 0x7FFFFFFFU, 1025U}) {
        BOOST_TEST(library(patched(image, image.notes_at(), huge)).os_version == 0U);
        BOOST_TEST(library(patched(image, image.notes_at() + 4, huge)).os_version == 0U);
    }
    BOOST_TEST(library(patched(image, image.notes_at(), std::uint32_t{0})).os_version == 0U);
    std::string no_step =
        patched(image, image.notes_at(), std::uint32_t{0xFFFFFFF4}); // 0 with the header, in 32 bits
    patch(no_step, image.notes_at() + 4, std::uint32_t{0});
    BOOST_TEST(library(no_step).os_version == 0U);
}

BOOST_AUTO_TEST_CASE(files_that_are_no_plain_files_are_left_out)
{
    const TempDirectory directory;
    BOOST_REQUIRE(::mkfifo(directory.path("fifo").c_str(), 0600) == 0);
    for (const std::string &path : {directory.path("fifo"), directory.path(), std::string("/dev/zero")}) {
        const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
        const auto result = read_elf_library(fd.get());
        BOOST_TEST(std::get<NotALibrary>(result).why == "it is no plain file");
    }
    const auto closed = read_elf_library(-1);
    BOOST_TEST(std::get<NotALibrary>(closed).why == "it cannot be read: Bad file descriptor");
}

BOOST_AUTO_TEST_CASE(a_file_that_cannot_be_read_is_left_out)
{
    const TempDirectory directory;
    directory.file("libx.so", ElfImage().bytes());
    const UniqueFd fd(::open(directory.path("libx.so").c_str(), O_WRONLY | O_CLOEXEC));
    const auto result = read_elf_library(fd.get());
    BOOST_TEST(std::get<NotALibrary>(result).why == "it cannot be read: Bad file descriptor");
}

BOOST_AUTO_TEST_CASE(the_interpreter_of_a_program)
{
    const auto interpreter = [](const std::string &bytes) {
        const UniqueFd fd = file_of(bytes);
        return read_interpreter(ElfFile(fd.get(), ElfKind::Program));
    };
    ElfImage image;
    image.notes = std::string("/lib/ld.so\0\0", 12);
    BOOST_TEST(interpreter(image.bytes()).empty());
    std::string bytes = patched(image, image.segment_at(ElfImage::Note), std::uint32_t{PT_INTERP});
    BOOST_TEST(interpreter(bytes) == "/lib/ld.so");
    constexpr size_t type = offsetof(Elf64_Ehdr, e_type);
    patch(bytes, type, std::uint16_t{ET_EXEC});
    BOOST_TEST(interpreter(bytes) == "/lib/ld.so");
    BOOST_TEST(why(bytes) == "it is no shared library");
    patch(bytes, type, std::uint16_t{ET_REL});
    BOOST_CHECK_THROW(interpreter(bytes), Error);
}

BOOST_AUTO_TEST_CASE(zeros_without_end_are_no_elf_file)
{
    const UniqueFd fd(::memfd_create("zeros", MFD_CLOEXEC));
    BOOST_REQUIRE(::ftruncate(fd.get(), off_t{1} << 40U) == 0);
    const auto result = read_elf_library(fd.get());
    BOOST_TEST(std::get<NotALibrary>(result).why == "it is no ELF file");
}

BOOST_AUTO_TEST_CASE(the_offset_of_the_descriptor_is_left_alone)
{
    const UniqueFd fd = file_of(ElfImage().bytes());
    BOOST_REQUIRE(::lseek(fd.get(), 7, SEEK_SET) == 7);
    BOOST_TEST(std::holds_alternative<ElfLibrary>(read_elf_library(fd.get())));
    BOOST_TEST(::lseek(fd.get(), 0, SEEK_CUR) == 7);
}

BOOST_AUTO_TEST_CASE(any_damaged_byte_is_survived)
{
    for (const bool is_64 : {true, false}) {
        ElfImage image;
        image.is_64 = is_64;
        const std::string bytes = image.bytes();
        for (size_t at = 0; at < bytes.size(); at++) {
            for (const unsigned bit : {0U, 1U, 4U, 7U}) {
                std::string damaged = bytes;
                damaged[at] = static_cast<char>(static_cast<unsigned char>(damaged[at]) ^ (1U << bit));
                const auto result = read(damaged);
                if (const auto *read = std::get_if<ElfLibrary>(&result))
                    BOOST_TEST(damaged.find(read->soname) != std::string::npos);
            }
        }
    }
}

BOOST_AUTO_TEST_SUITE_END()
