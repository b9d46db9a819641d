// SPDX-License-Identifier: Apache-2.0
#include <elf.h>
#include <fcntl.h>
#include <gnu/libc-version.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <stdexcept>
#include <string>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "base/unique_fd.h"
#include "loader/glibc_versions.h"
#include "support/elf_image.h"
#include "support/versioned_library.h"

BOOST_AUTO_TEST_SUITE(glibc_versions)

using namespace ogh;
using ogh::test::ElfImage;
using ogh::test::patch;
using ogh::test::Versioned;

namespace {

using Names = std::vector<std::string>;

UniqueFd file_of(const std::string &bytes)
{
    UniqueFd fd(::memfd_create("library", MFD_CLOEXEC));
    if (!fd.valid() || ::write(fd.get(), bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size()))
        throw std::runtime_error("memfd");
    return fd;
}

GlibcVersions of(const Names &names)
{
    GlibcVersions versions;
    for (const std::string &name : names)
        versions.add(name);
    return versions;
}

const std::vector<Names> glibcs_own{{"libc.so.6"}, {"GLIBC_2.2.5"},       {"GLIBC_2.36", "GLIBC_2.35"},
                                    {"GLIBC_2.9"}, {"GLIBC_ABI_DT_RELR"}, {"GLIBC_PRIVATE"}};

} // namespace

BOOST_AUTO_TEST_CASE(names_of_versions)
{
    const GlibcVersions versions = of({"GLIBC_2.2.5", "GLIBC_2.36", "GLIBC_2.4", "GLIBC_PRIVATE", "GCC_3.0",
                                       "GLIBCXX_3.4.30", "GLIBC_ABI_DT_RELR"});
    BOOST_TEST(versions.highest.text() == "2.36");
    BOOST_TEST((versions.marks == std::set<std::string>{"GLIBC_ABI_DT_RELR"}));
    BOOST_TEST(of({"GLIBC_2.3", "GLIBC_2.2.5"}).highest.text() == "2.3");
    BOOST_TEST(of({"GLIBC_2.2", "GLIBC_2.2.5"}).highest.text() == "2.2.5");
    BOOST_TEST((of({"CXXABI_1.3", "", "GLIBC"}) == GlibcVersions{}));
    for (const char *odd : {"GLIBC_", "GLIBC_2.", "GLIBC_2.3.4.5", "GLIBC_2.x", "GLIBC_-2.3"})
        BOOST_TEST((of({odd}) == GlibcVersions{{}, {odd}}), odd);
}

BOOST_AUTO_TEST_CASE(what_is_lacking)
{
    const GlibcVersions glibc = of({"GLIBC_2.36", "GLIBC_ABI_DT_RELR"});
    for (const char *name : {"GLIBC_2.36", "GLIBC_2.2.5", "GLIBC_1.99", "GLIBC_ABI_DT_RELR", "GCC_9"})
        BOOST_TEST(glibc.lacking(of({name})) == "", name);
    for (const char *name : {"GLIBC_2.37", "GLIBC_2.36.1", "GLIBC_3.0", "GLIBC_2.100", "GLIBC_ABI_GNU2_TLS"})
        BOOST_TEST(glibc.lacking(of({"GLIBC_2.4", name})) == name);
    BOOST_TEST(GlibcVersions{}.lacking({}) == "");
}

BOOST_AUTO_TEST_CASE(versions_of_libraries_of_both_classes_are_read)
{
    for (const bool is_64 : {true, false}) {
        Versioned library;
        library.elf.is_64 = is_64;
        library.records = {{"GLIBC_2.4", "GLIBC_2.38", "GLIBC_2.2.5"}, {"GCC_3.0"}, {"GLIBC_ABI_DT_RELR"}};
        BOOST_TEST((needed_glibc(file_of(library.needed()).get()) ==
                    GlibcVersions{{2, 38, 0}, {"GLIBC_ABI_DT_RELR"}}));
        library.records = glibcs_own;
        BOOST_TEST((defined_glibc(file_of(library.defined()).get()) ==
                    GlibcVersions{{2, 36, 0}, {"GLIBC_ABI_DT_RELR"}}));
    }
}

BOOST_AUTO_TEST_CASE(a_library_without_versions_needs_none)
{
    const UniqueFd plain = file_of(ElfImage().bytes());
    BOOST_TEST((needed_glibc(plain.get()) == GlibcVersions{}));
    BOOST_TEST(!defined_glibc(plain.get()).has_value());
    Versioned other;
    other.records = {{"libother.so.1"}, {"OTHER_1.0"}};
    BOOST_TEST(!defined_glibc(file_of(other.defined()).get()).has_value());
    BOOST_TEST(!needed_glibc(file_of("no library").get()).has_value());
}

/** The C library of this machine, which knows its own version. */
BOOST_AUTO_TEST_CASE(glibc_itself)
{
    std::string path;
    const auto find = [](dl_phdr_info *info, size_t, void *result) {
        if (std::string_view(info->dlpi_name).ends_with("/libc.so.6"))
            *static_cast<std::string *>(result) = info->dlpi_name;
        return 0;
    };
    ::dl_iterate_phdr(find, &path);
    const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    const auto versions = defined_glibc(fd.get());
    BOOST_REQUIRE(versions.has_value());
    BOOST_TEST(versions->highest.text() == ::gnu_get_libc_version());
    BOOST_TEST(versions->lacking(needed_glibc(fd.get()).value()) == "");
}

BOOST_AUTO_TEST_CASE(sections_are_bounded)
{
    Versioned library;
    library.records = glibcs_own;
    const std::string bytes = library.defined();
    const size_t section = library.section_at();
    const auto is_read = [&](size_t at, auto number) {
        std::string damaged = bytes;
        patch(damaged, at, number);
        return defined_glibc(file_of(damaged).get()).has_value();
    };
    BOOST_TEST(is_read(section + 12, std::uint32_t{20})); // what it is
    for (const std::uint32_t far : {0xFFFFFFFFU, 0x7FFFFFFFU, 1U << 20U})
        BOOST_TEST(!is_read(section + 12, far)); // the names of the first
    for (const std::uint32_t far : {0xFFFFFFFFU, 0xFFFFFFECU, 1U << 20U})
        BOOST_TEST(!is_read(section + 16, far));     // the second
    BOOST_TEST(!is_read(section + 20, 0xFFFFFFFFU)); // the first name
    BOOST_TEST(!is_read(section + 24, 0xFFFFFFF0U)); // the one behind it
}

BOOST_AUTO_TEST_CASE(there_are_not_too_many_versions)
{
    Versioned library;
    library.records.assign(8, Names(32, "GLIBC_2.4"));
    BOOST_TEST(needed_glibc(file_of(library.needed()).get()).has_value());
    library.records.back().emplace_back("GLIBC_2.4");
    BOOST_TEST(!needed_glibc(file_of(library.needed()).get()).has_value());
    // Records that go round and round in names: a step of one byte less than a name never ends by itself.
    library.records = {Names(32, "GLIBC_2.4")};
    std::string bytes = library.needed();
    for (size_t item = 0; item < 32; ++item)
        patch(bytes, library.section_at() + 16 + item * 16 + 12, std::uint32_t{1});
    static_cast<void>(needed_glibc(file_of(bytes).get()));
}

BOOST_AUTO_TEST_CASE(any_damaged_byte_is_survived)
{
    Versioned library;
    library.records = {{"GLIBC_2.4", "GLIBC_2.38"}, {"GLIBC_ABI_DT_RELR"}};
    const std::string bytes = library.needed();
    for (size_t at = 0; at < bytes.size(); at++) {
        for (const unsigned bit : {0U, 4U, 7U}) {
            std::string damaged = bytes;
            damaged[at] = static_cast<char>(static_cast<unsigned char>(damaged[at]) ^ (1U << bit));
            static_cast<void>(needed_glibc(file_of(damaged).get()));
            static_cast<void>(defined_glibc(file_of(damaged).get()));
        }
        static_cast<void>(needed_glibc(file_of(bytes.substr(0, at)).get()));
    }
}

BOOST_AUTO_TEST_SUITE_END()
