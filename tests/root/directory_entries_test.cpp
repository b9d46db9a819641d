// SPDX-License-Identifier: Apache-2.0
//
// Listing a directory of a filesystem that does not say what its entries are.
#include <dirent.h>
#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include <filesystem>

#include <boost/test/unit_test.hpp>

#include "base/unique_fd.h"
#include "child.h"
#include "kernel/directory_entries.h"
#include "support/temp_directory.h"

BOOST_AUTO_TEST_SUITE(directory_entries)

using namespace ogh;
using namespace ogh::test;

namespace {

struct WithoutTypes : TempDirectory {
    WithoutTypes()
    {
        directory("ext2");
        file("image");
        std::filesystem::resize_file(path("image"), std::uintmax_t{1} << 20U);
        BOOST_REQUIRE(run_program({"mkfs.ext2", "-q", "-O", "^filetype", path("image")}) == 0);
        BOOST_REQUIRE(run_program({"mount", "-o", "loop", path("image"), path("ext2")}) == 0);
    }
    WithoutTypes(const WithoutTypes &) = delete;
    WithoutTypes &operator=(const WithoutTypes &) = delete;
    ~WithoutTypes() { ::umount2(path("ext2").c_str(), MNT_DETACH); }
};

} // namespace

BOOST_FIXTURE_TEST_CASE(types_that_the_filesystem_does_not_tell_are_looked_up, WithoutTypes)
{
    file("ext2/file");
    directory("ext2/directory");
    link("ext2/link", "directory");
    check_call(::mkfifo(path("ext2/pipe").c_str(), 0600), "mkfifo");
    const UniqueFd opened(::open(path("ext2").c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    std::string seen;
    for (const DirectoryEntry &entry : list_directory(
             opened.get(), {"it", [](std::string_view name) { return !name.starts_with("lost"); }}))
        seen += entry.name + " " + std::to_string(entry.type) + "\n";
    const auto line = [](const char *name, unsigned char type) {
        return std::string(name) + " " + std::to_string(type) + "\n";
    };
    BOOST_TEST(seen == line(".", DT_DIR) + line("..", DT_DIR) + line("directory", DT_DIR) +
                           line("file", DT_REG) + line("link", DT_LNK) + line("pipe", DT_FIFO));
}

BOOST_AUTO_TEST_SUITE_END()
