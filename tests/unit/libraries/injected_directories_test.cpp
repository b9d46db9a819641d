// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <algorithm>
#include <string>

#include <boost/test/unit_test.hpp>

#include "base/error.h"
#include "libraries/injected_directories.h"
#include "support/elf_image.h"
#include "support/image_in_directory.h"
#include "support/temp_directory.h"

BOOST_AUTO_TEST_SUITE(injected_directories)

using namespace ogh;
using ogh::test::ElfImage;
using ogh::test::ImageInDirectory;
using ogh::test::TempDirectory;

namespace {

struct Directories : TempDirectory {
    Directories() { directory("root"); }

    void library(const std::string &name, const std::string &soname) const
    {
        ElfImage image;
        image.soname = soname;
        file("root" + name, image.bytes());
    }

    /** "NAME PATH" of each, in order. */
    [[nodiscard]] std::vector<std::string> read(const std::vector<std::string> &directories,
                                                const std::vector<std::string> &asked_for = {})
    {
        const ImageInDirectory image(path("root"));
        std::vector<std::string> found;
        for (const AddedLibrary &library :
             read_injected_directories(image.reader(), {directories, asked_for}, notes))
            found.push_back(library.name + " " + library.path);
        return found;
    }

    /** Further names of one file. */
    void names(const std::string &file, const std::string &directory, size_t count) const
    {
        for (size_t i = 0; i < count; ++i) {
            const std::string name = path("root" + directory + "/lib" + std::to_string(i) + ".so");
            BOOST_REQUIRE(::link(path("root" + file).c_str(), name.c_str()) == 0);
        }
    }

    Notes notes;
};

using Found = std::vector<std::string>;

} // namespace

BOOST_FIXTURE_TEST_CASE(a_directory_of_several_names_counts_once, Directories)
{
    library("/opt/a/libx.so.1", "libx.so.1");
    library("/opt/b/liby.so.1", "liby.so.1");
    link("root/opt/again", "a");
    link("root/opt/absolute", "/opt/a");
    BOOST_TEST(read({"/opt/again", "/opt/a", "/opt/b", "/opt/absolute", "/opt/../opt/a"}) ==
                   (Found{"libx.so.1 /opt/again/libx.so.1", "liby.so.1 /opt/b/liby.so.1"}),
               boost::test_tools::per_element());
    BOOST_TEST(notes.empty());
}

BOOST_FIXTURE_TEST_CASE(all_directories_together_are_bounded, Directories)
{
    library("/opt/a/libx.so.1", "libx.so.1");
    directory("root/opt/b");
    names("/opt/a/libx.so.1", "/opt/a", max_library_files / 2 - 1);
    names("/opt/a/libx.so.1", "/opt/b", max_library_files / 2);
    BOOST_TEST(read({"/opt/a", "/opt/b"}).size() == 2U);
    library("/opt/b/liby.so.1", "liby.so.1");
    const auto is_too_many = [](const Error &error) {
        return error.kind() == ErrorKind::Failure &&
               std::string(error.what()).find("'/opt/b'") != std::string::npos;
    };
    BOOST_CHECK_EXCEPTION(static_cast<void>(read({"/opt/a", "/opt/b"})), Error, is_too_many);
}

BOOST_FIXTURE_TEST_CASE(a_directory_that_is_not_there_is_said, Directories)
{
    file("root/opt/file");
    for (const char *name : {"/opt/none", "/opt/file"}) {
        const auto is_not_available = [](const Error &error) {
            return error.kind() == ErrorKind::NotAvailable;
        };
        BOOST_CHECK_EXCEPTION(static_cast<void>(read({name}, {name})), Error, is_not_available);
    }
}

BOOST_AUTO_TEST_SUITE_END()
