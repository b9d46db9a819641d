// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <stdexcept>

#include <boost/test/unit_test.hpp>

#include "base/unique_fd.h"
#include "nvidia/cuda_compat.h"
#include "support/compat_library.h"

BOOST_AUTO_TEST_SUITE(compat_note)

using namespace ogh;
using namespace std::string_literals;
using ogh::test::CompatLibrary;
using ogh::test::ElfImage;
using ogh::test::patch;

namespace {

std::optional<CompatNote> note_of(const std::string &bytes)
{
    const UniqueFd fd(::memfd_create("library", MFD_CLOEXEC));
    if (!fd.valid() || ::write(fd.get(), bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size()))
        throw std::runtime_error("memfd");
    return read_compat_note(fd.get());
}

/** The majors, separated by blanks; "none" if there is no note. */
std::string drivers_of(const std::string &bytes)
{
    const auto note = note_of(bytes);
    if (!note)
        return "none";
    std::string text;
    for (const unsigned driver : note->drivers)
        text += (text.empty() ? "" : " ") + std::to_string(driver);
    return text;
}

std::string drivers_of(const CompatLibrary &library)
{
    return drivers_of(library.bytes());
}

std::string with_description(const std::string &description)
{
    CompatLibrary library;
    library.description = description;
    return drivers_of(library);
}

std::string with_driver(const std::string &value)
{
    return with_description(R"({"Driver": )" + value + "}");
}

template<typename Number> std::string patched(const CompatLibrary &library, size_t at, Number number)
{
    std::string bytes = library.bytes();
    patch(bytes, at, number);
    return drivers_of(bytes);
}

/** Whatever of these numbers stands there, there is no note. */
template<typename Number> void expect_none(size_t at, const std::vector<Number> &numbers)
{
    for (const Number number : numbers)
        BOOST_TEST(patched({}, at, number) == "none", number << " at " << at);
}

const CompatLibrary usual;

} // namespace

BOOST_AUTO_TEST_CASE(the_majors_are_read_from_64_bit_libraries)
{
    CompatLibrary library;
    BOOST_TEST(drivers_of(library) == "535 550");
    library.alignment = 8;
    BOOST_TEST(drivers_of(library) == "535 550");
    BOOST_TEST(patched(usual, EI_CLASS, std::uint8_t{ELFCLASS32}) == "none");
}

BOOST_AUTO_TEST_CASE(what_has_no_such_note_says_nothing)
{
    BOOST_TEST(drivers_of(""s) == "none");
    BOOST_TEST(drivers_of("{\"Driver\": [535]}"s) == "none");
    BOOST_TEST(drivers_of(ElfImage().bytes()) == "none");
    CompatLibrary library;
    library.type = SHT_PROGBITS;
    BOOST_TEST(drivers_of(library) == "none");
    library = {};
    for (const char *name : {"", ".note", ".note.cuda.fwd_compatibilit", ".note.cuda.fwd_compatibility2"}) {
        library.section_name = name;
        BOOST_TEST(drivers_of(library) == "none", name);
    }
    library = {};
    for (const char *owner :
         {"", "GNU", "NVIDIA", "NVIDIA Corporatio", "NVIDIA Corporation ", "nvidia Corporation"}) {
        library.owner = owner;
        BOOST_TEST(drivers_of(library) == "none", owner);
    }
}

BOOST_AUTO_TEST_CASE(the_majors_are_numbers_in_an_array)
{
    BOOST_TEST(with_driver("[ 1,\n2 , 4294967295]") == "1 2 4294967295");
    BOOST_TEST(with_driver("[]").empty());
    for (const char *value :
         {"null", "535", "\"535\"", "{\"535\": 1}", "[\"535\"]", "[535.0]", "[-1]", "[null]", "[4294967296]",
          "[99999999999999999999999]", "[1e999]", "[[535]]", "[535,]", "[535", "[550, true]"})
        BOOST_TEST(with_driver(value) == "none", value);
}

BOOST_AUTO_TEST_CASE(the_description_is_a_json_object)
{
    BOOST_TEST(with_description(R"({"Driver": [1], "x": [[{"Driver": [2]}]], "": null})") == "1");
    BOOST_TEST(with_description("{\"Driver\": [1]}\0\0\0\0\0"s) == "1");
    for (const std::string &text :
         {""s, "\0\0\0\0"s, "{}"s, R"({"driver": [1]})"s, "[1]"s, R"("Driver")"s, R"({"Driver": [1]} x)"s,
          R"({"Driver": [1])"s, "\0{\"Driver\": [1]}"s, "{\"Driver\": [1], \"x\": \"\xff\"}"s})
        BOOST_TEST(with_description(text) == "none", text);
    BOOST_TEST(with_description("{\"Driver\": [1], \"x\": " + std::string(100, '[') + std::string(100, ']') +
                                "}") == "none");
}

BOOST_AUTO_TEST_CASE(the_version_of_cuda_is_a_text)
{
    CompatLibrary library;
    BOOST_TEST(note_of(library.bytes()).value().cuda == "12.9");
    library.description = R"({"CUDA Version": "13.0"})";
    BOOST_TEST((note_of(library.bytes()) == CompatNote{{}, "13.0"}));
    library.description = R"({"Driver": [540]})";
    BOOST_TEST((note_of(library.bytes()) == CompatNote{{540}, ""}));
    for (const char *value : {"12.9", "[\"12.9\"]", "{}"})
        BOOST_TEST(with_description(std::string(R"({"Driver": [540], "CUDA Version": )") + value + "}") ==
                       "none",
                   value);
    BOOST_TEST(with_description(R"({"CUDA Version": "12.9", "Driver": 540})") == "none");
}

BOOST_AUTO_TEST_CASE(a_note_is_read_up_to_64_kib)
{
    CompatLibrary library;
    library.description = R"({"Driver": [535]})";
    library.description.resize(65536 - 32, ' ');
    BOOST_TEST(drivers_of(library) == "535");
    library.description += "    ";
    BOOST_TEST(drivers_of(library) == "none");
}

BOOST_AUTO_TEST_CASE(sizes_in_the_note_are_checked)
{
    using Numbers = std::vector<std::uint32_t>;
    const size_t note = usual.note_at();
    expect_none(note, Numbers{0, 18, 20, 0x7fffffff, 0xffffffff});
    // With the padding, and not one byte more.
    const auto size = static_cast<std::uint32_t>(usual.names_at() - note - 32);
    BOOST_TEST(patched(usual, note + 4, size) == "535 550");
    expect_none(note + 4, Numbers{0, 8, size + 1, 0x80000000, 0xffffffff});
    expect_none(usual.size_at(CompatLibrary::Note),
                std::vector<std::uint64_t>{0, 11, 12, 31, 32, 31 + usual.description.size()});
}

BOOST_AUTO_TEST_CASE(places_and_sizes_of_sections_are_checked)
{
    using Numbers = std::vector<std::uint64_t>;
    constexpr auto note = CompatLibrary::Note;
    constexpr auto names = CompatLibrary::Names;
    for (const size_t place :
         {CompatLibrary::headers_offset_at, usual.offset_at(note), usual.offset_at(names)})
        expect_none(place, Numbers{usual.bytes().size(), UINT64_MAX / 2, UINT64_MAX / 2 + 1, UINT64_MAX - 1,
                                   UINT64_MAX});
    expect_none(usual.size_at(note), Numbers{65537, UINT64_MAX / 2, UINT64_MAX});
    // Only as much as the name needs is read, so that a wrong size does no harm if it is too large.
    BOOST_TEST(patched(usual, usual.size_at(names), UINT64_MAX) == "535 550");
    expect_none(usual.size_at(names), Numbers{0, 1, 29});
    expect_none(usual.name_at(note), std::vector<std::uint32_t>{0, 2, 1000, 0x7fffffff, 0xffffffff});
}

BOOST_AUTO_TEST_CASE(headers_of_sections_are_bounded)
{
    using Numbers = std::vector<std::uint16_t>;
    expect_none(CompatLibrary::header_size_at, Numbers{0, 1, 39, 41, 63, 65, 0xffff});
    expect_none(CompatLibrary::count_at, Numbers{0, 1, 2, 4, 0xffff});
    expect_none(CompatLibrary::names_index_at, Numbers{0, 1, 3, 0xffff});
    std::string bytes = usual.bytes();
    bytes.resize(bytes.size() + 256 * sizeof(Elf64_Shdr));
    patch(bytes, CompatLibrary::count_at, std::uint16_t{256});
    BOOST_TEST(drivers_of(bytes) == "535 550");
    patch(bytes, CompatLibrary::count_at, std::uint16_t{257});
    BOOST_TEST(drivers_of(bytes) == "none");
}

BOOST_AUTO_TEST_CASE(a_name_may_be_the_end_of_another_one)
{
    CompatLibrary library;
    library.section_name = ".rela" + library.section_name;
    BOOST_TEST(drivers_of(library) == "none");
    BOOST_TEST(patched(library, library.name_at(CompatLibrary::Note), 6U) == "535 550");
}

BOOST_AUTO_TEST_CASE(what_is_no_plain_file_says_nothing)
{
    std::array<int, 2> ends{};
    BOOST_REQUIRE(::pipe2(ends.data(), O_CLOEXEC) == 0);
    const UniqueFd from(ends[0]);
    const UniqueFd to(ends[1]);
    BOOST_TEST(!read_compat_note(from.get()).has_value());
    BOOST_TEST(!read_compat_note(-1).has_value());
}

BOOST_AUTO_TEST_CASE(any_damaged_byte_and_any_end_is_survived)
{
    const std::string bytes = usual.bytes();
    for (size_t at = 0; at < bytes.size(); ++at) {
        std::string damaged = bytes;
        damaged[at] = static_cast<char>(static_cast<unsigned char>(damaged[at]) ^ (1U << at % 8));
        BOOST_CHECK_NO_THROW(drivers_of(damaged));
        BOOST_TEST(drivers_of(bytes.substr(0, at)) == "none");
    }
}

BOOST_AUTO_TEST_SUITE_END()
