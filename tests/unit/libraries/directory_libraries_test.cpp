// SPDX-License-Identifier: Apache-2.0
#include <elf.h>

#include <algorithm>
#include <iterator>

#include <boost/test/unit_test.hpp>

#include "libraries/directory_libraries.h"

BOOST_AUTO_TEST_SUITE(directory_libraries)

using namespace ogh;

namespace {

FoundFile file(const std::string &name, const std::string &soname, ino_t inode, bool is_link = false)
{
    return {name, is_link, 7, inode, {true, EM_X86_64, 0, soname, 0x00030200}};
}

FoundFile link(const std::string &name, const std::string &soname, ino_t inode)
{
    return file(name, soname, inode, true);
}

std::string choose(const std::vector<FoundFile> &files, const std::string &subdirectory)
{
    const std::string directory = subdirectory.empty() ? "/d/" : "/d/glibc-hwcaps/" + subdirectory + "/";
    std::string result;
    Notes notes;
    for (const AddedLibrary &library : choose_libraries("/d", subdirectory, files, notes)) {
        BOOST_TEST(library.path.starts_with(directory));
        BOOST_TEST(library.subdirectory == subdirectory);
        result += (result.empty() ? "" : " ") + library.name + "=" + library.path.substr(directory.size());
    }
    BOOST_TEST(notes.empty());
    return result;
}

/** "NAME=FILE ..." for a directory; the order in which the files are found does not matter. */
std::string chosen(std::vector<FoundFile> files, const std::string &subdirectory = "")
{
    const auto by_name = [](const FoundFile &a, const FoundFile &b) { return a.name < b.name; };
    std::sort(files.begin(), files.end(), by_name);
    std::string result = choose(files, subdirectory);
    while (std::next_permutation(files.begin(), files.end(), by_name))
        BOOST_TEST(choose(files, subdirectory) == result);
    return result;
}

} // namespace

BOOST_AUTO_TEST_CASE(libraries_are_known_by_their_names)
{
    for (const char *name : {"libx.so", "libx.so.1", "lib.so", "libx.sofa", "ld-linux-x86-64.so.2",
                             "ld-2.31.so", "ld64.so.2", "ld.so.1", "libx-1.so.2", "libx.so.1.dpkg-old"})
        BOOST_TEST(is_library_name(name), name);
    for (const char *name : {"", "lib", "libx", "libx.a", "libx.la", "x.so", "xlibx.so", "ld.so", "LIBX.SO",
                             "ldconfig", "lib.s.o", ".libx.so"})
        BOOST_TEST(!is_library_name(name), name);
}

BOOST_AUTO_TEST_CASE(what_package_managers_leave_for_a_moment_is_none)
{
    for (const char *name :
         {"libx.so.1.dpkg-new", "libx.so.1.dpkg-tmp", "libx.so.1;5f2d7a11", "libx.so.1.#prelink#",
          "libx.so.1.#prelink#.a8Zb3Q", "libstdc++.so.6.0.30-gdb.py"})
        BOOST_TEST(!is_library_name(name), name);
    BOOST_TEST(is_library_name("libx.so.1.#prelink#.a8Zb3Qx"));
    BOOST_TEST(is_library_name("libx.so.1.#prelink#x"));
}

BOOST_AUTO_TEST_CASE(an_entry_names_the_soname_if_that_is_the_file)
{
    BOOST_TEST(chosen({file("libx.so.1.2", "libx.so.1", 5), link("libx.so.1", "libx.so.1", 5)}) ==
               "libx.so.1=libx.so.1");
    BOOST_TEST(chosen({file("libx.so.1", "libx.so.1", 5)}) == "libx.so.1=libx.so.1");
    BOOST_TEST(chosen({link("libx.so.1", "libx.so.1", 5)}) == "libx.so.1=libx.so.1");
}

BOOST_AUTO_TEST_CASE(an_entry_names_the_file_if_the_soname_is_another_one_or_not_there)
{
    BOOST_TEST(chosen({file("libx.so.1.2", "libx.so.1", 5)}) == "libx.so.1=libx.so.1.2");
    BOOST_TEST(chosen({file("libx.so.1.2", "libx.so.1", 5), link("libx.so.1", "libx.so.1", 6)}) ==
               "libx.so.1=libx.so.1.2");
    FoundFile other_device = link("libx.so.1", "libx.so.1", 5);
    other_device.device = 8;
    BOOST_TEST(chosen({file("libx.so.1.2", "libx.so.1", 5), other_device}) == "libx.so.1=libx.so.1.2");
}

BOOST_AUTO_TEST_CASE(a_library_without_soname_is_known_by_its_file_name)
{
    BOOST_TEST(chosen({file("libx.so", "", 5), link("liby.so", "", 5)}) == "libx.so=libx.so liby.so=liby.so");
}

BOOST_AUTO_TEST_CASE(the_highest_version_is_chosen)
{
    const FoundFile link_to_old = link("libx.so.1", "libx.so.1", 9);
    BOOST_TEST(chosen({file("libx.so.1.9", "libx.so.1", 9), file("libx.so.1.10", "libx.so.1", 10),
                       link_to_old}) == "libx.so.1=libx.so.1.10");
    BOOST_TEST(chosen({file("libx.so.1.9", "libx.so.1", 9), file("libx.so.1.8", "libx.so.1", 8),
                       link_to_old}) == "libx.so.1=libx.so.1");
    BOOST_TEST(chosen({file("libx.so.01", "libx.so", 1), file("libx.so.1", "libx.so", 2)}) ==
               "libx.so=libx.so.01");
}

BOOST_AUTO_TEST_CASE(real_files_are_preferred_to_links)
{
    BOOST_TEST(chosen({file("libx.so.1.2", "libx.so.9", 2), link("libx.so.9", "libx.so.9", 9)}) ==
               "libx.so.9=libx.so.1.2");
}

BOOST_AUTO_TEST_CASE(a_development_link_has_an_entry_of_its_own)
{
    BOOST_TEST(chosen({file("libx.so.1.2", "libx.so.1", 5), link("libx.so.1", "libx.so.1", 5),
                       link("libx.so", "libx.so.1", 5)}) == "libx.so=libx.so libx.so.1=libx.so.1");
    // Of another name it would be just another file with this SONAME.
    BOOST_TEST(chosen({file("libx.so.1", "libx.so.1", 5), link("liby.so", "libx.so.1", 5),
                       link("libx.so.2", "libx.so.1", 5)}) == "libx.so.1=libx.so.1");
    BOOST_TEST(chosen({file("libx.so", "libx.so.1", 5)}) == "libx.so.1=libx.so");
}

BOOST_AUTO_TEST_CASE(a_link_of_another_name_counts_as_a_file)
{
    BOOST_TEST(chosen({link("libx.so.3", "libx.so.1", 3), link("libx.so.1", "libx.so.1", 1)}) ==
               "libx.so.1=libx.so.3");
}

BOOST_AUTO_TEST_CASE(libraries_below_hwcaps_are_named_by_their_files)
{
    BOOST_TEST(chosen({file("libx.so.1.2", "libx.so.1", 5), link("libx.so.1", "libx.so.1", 5)},
                      "x86-64-v3") == "libx.so.1=libx.so.1.2");
}

BOOST_AUTO_TEST_CASE(there_is_an_entry_for_each_machine)
{
    FoundFile narrow = file("libx.so.1.3", "libx.so.1", 3);
    narrow.library.is_64 = false;
    narrow.library.machine = EM_386;
    narrow.library.os_version = 0;
    Notes notes;
    const auto libraries = choose_libraries("/d", "", {narrow, file("libx.so.1.2", "libx.so.1", 2)}, notes);
    BOOST_REQUIRE(libraries.size() == 2U);
    BOOST_TEST((libraries[0] == AddedLibrary{"libx.so.1", "/d/libx.so.1.3", 0x0003, 0, ""}));
    BOOST_TEST((libraries[1] == AddedLibrary{"libx.so.1", "/d/libx.so.1.2", 0x0303, 0x00030200, ""}));
}

BOOST_AUTO_TEST_CASE(libraries_of_other_machines_are_left_out_with_one_warning)
{
    FoundFile foreign = file("libx.so.1", "libx.so.1", 3);
    foreign.library.machine = EM_S390;
    FoundFile another = foreign;
    another.name = "liby\n.so";
    Notes notes;
    BOOST_TEST(choose_libraries("/d", "v", {foreign}, notes).empty());
    BOOST_REQUIRE(notes.size() == 1U);
    BOOST_TEST((notes[0].level == LogLevel::Warning));
    BOOST_TEST(
        notes[0].text ==
        "'/d/glibc-hwcaps/v/libx.so.1' is left out: it is for another kind of machine (ELF number 22)");
    notes.clear();
    BOOST_TEST(choose_libraries("/d", "", {another, foreign, file("libz.so", "", 4)}, notes).size() == 1U);
    BOOST_REQUIRE(notes.size() == 1U);
    BOOST_TEST(notes[0].text.ends_with("(ELF number 22); so is 1 more file beside it"));
}

BOOST_AUTO_TEST_CASE(every_file_and_link_may_have_an_entry_by_its_own_name)
{
    FoundFile foreign = file("libz.so.1", "libz.so.1", 8);
    foreign.library.machine = EM_S390;
    const std::vector<FoundFile> files{file("libx.so.555.42.07", "libx.so.4", 5),
                                       link("libx.so.4", "libx.so.4", 5),
                                       link("liby_indirect.so.0", "liby.so.0", 6), foreign};
    Notes notes;
    auto libraries = choose_libraries("/d", "", files, notes);
    const auto before = libraries;
    add_file_names("/d", files, libraries);
    BOOST_REQUIRE(libraries.size() == 4U);
    BOOST_TEST(std::equal(before.begin(), before.end(), libraries.begin()));
    BOOST_TEST(
        (libraries[2] == AddedLibrary{"libx.so.555.42.07", "/d/libx.so.555.42.07", 0x0303, 0x00030200, ""}));
    BOOST_TEST((libraries[3] ==
                AddedLibrary{"liby_indirect.so.0", "/d/liby_indirect.so.0", 0x0303, 0x00030200, ""}));
    BOOST_TEST(before.size() == 2U); // liby.so.0, by way of the link
}

BOOST_AUTO_TEST_CASE(an_empty_directory_has_no_entries)
{
    Notes notes;
    BOOST_TEST(choose_libraries("/d", "", {}, notes).empty());
}

BOOST_AUTO_TEST_SUITE_END()
