// SPDX-License-Identifier: Apache-2.0
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>

#include <boost/test/unit_test.hpp>

#include "base/unique_fd.h"
#include "nvidia/cuda_compat.h"
#include "support/compat_library.h"
#include "support/image_in_directory.h"
#include "support/temp_directory.h"

BOOST_AUTO_TEST_SUITE(cuda_compat)

using namespace ogh;
using ogh::test::CompatLibrary;
using ogh::test::ElfImage;
using ogh::test::ImageInDirectory;
using ogh::test::TempDirectory;

namespace {

constexpr const char *in_image = "root/usr/local/cuda/compat/";
constexpr const char *cuda_file = "libcuda.so.575.51.03";

std::string library(const std::optional<std::string> &soname)
{
    ElfImage image;
    image.soname = soname;
    return image.bytes();
}

std::string cuda(const std::string &soname = "libcuda.so.1")
{
    CompatLibrary library;
    library.elf.soname = soname;
    return library.bytes();
}

/** The root of an image, beside files that are not its own. */
struct ImageRoot : TempDirectory {
    ImageRoot()
    {
        directory(in_image);
        file("outside/libcuda.so.575.51.03", cuda());
    }

    void compat(const std::string &name, const std::string &content) const { file(in_image + name, content); }
    void compat_link(const std::string &name, const std::string &target) const
    {
        link(in_image + name, target);
    }

    /** "VERSION: SONAME=FILE ..."; or the level of the note and "ignored" if there is nothing. */
    [[nodiscard]] std::string read()
    {
        notes.clear();
        const auto compat = read_cuda_compat(ImageInDirectory(path("root")).reader(), notes);
        if (!compat)
            return notes.empty() ? "nothing" : notes[0].level == LogLevel::Info ? "none" : "ignored";
        BOOST_TEST(notes.empty());
        std::string text = compat->version + ":";
        for (const auto &[soname, file] : compat->libraries)
            ((text += " ") += soname) += "=" + file;
        return text;
    }

    [[nodiscard]] bool says(const std::string &text) const
    {
        return notes.size() == 1 && notes[0].text.find(text) != std::string::npos;
    }

    Notes notes;
};

constexpr const char *only_cuda = "575.51.03: libcuda.so.1=libcuda.so.575.51.03";

/** What happens to a file, as far as opening it goes. */
class Watch final {
public:
    explicit Watch(const std::string &path) : fd_(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC))
    {
        BOOST_REQUIRE(::inotify_add_watch(fd_.get(), path.c_str(), IN_OPEN) >= 0);
    }

    [[nodiscard]] bool was_opened() const
    {
        std::array<char, 4096> events{};
        return ::read(fd_.get(), events.data(), events.size()) > 0;
    }

private:
    UniqueFd fd_;
};

bool wins(const std::string &theirs, const std::string &ours,
          const std::optional<std::vector<unsigned>> &drivers = std::nullopt)
{
    return is_preferred({theirs, drivers, {}}, ours);
}

} // namespace

BOOST_AUTO_TEST_CASE(without_a_note_the_higher_major_version_wins)
{
    BOOST_TEST(wins("575.51.03", "555.42.07"));
    BOOST_TEST(wins("1000.1", "999.99.99"));
    for (const char *theirs : {"555.42.07", "555.42.08", "555.99.99", "550.99.99", "99.1", "1.1"})
        BOOST_TEST(!wins(theirs, "555.42.07"), theirs);
}

BOOST_AUTO_TEST_CASE(with_a_note_a_newer_one_wins_over_those_that_it_names)
{
    const std::vector<unsigned> drivers{535, 550, 555};
    BOOST_TEST(wins("575.51.03", "555.42.07", drivers));
    BOOST_TEST(wins("555.42.08", "555.42.07", drivers));
    BOOST_TEST(wins("555.42.1", "555.42", drivers));
    BOOST_TEST(wins("555.42.10", "555.42.9", drivers));
    for (const char *theirs : {"555.42.07", "555.42.7", "555.42", "555.41.99", "550.99.99", "99.99"})
        BOOST_TEST(!wins(theirs, "555.42.07", drivers), theirs);
    BOOST_TEST(!wins("555.42.0", "555.42", drivers));
    BOOST_TEST(!wins("575.51.03", "560.10.01", drivers));
    BOOST_TEST(!wins("575.51.03", "555.42.07", std::vector<unsigned>{}));
}

BOOST_AUTO_TEST_CASE(a_version_that_cannot_be_understood_never_wins_and_never_loses)
{
    const std::string huge(30, '9');
    BOOST_TEST(wins("18446744073709551615.1", "555.42.07"));
    for (const std::string &odd : {std::string(), std::string("575"), std::string("575."), std::string(".1"),
                                   std::string("575.1.2.3"), std::string("575.x"), std::string("-1.2"),
                                   std::string("18446744073709551616.1"), huge + ".1", "575." + huge}) {
        BOOST_TEST(!wins(odd, "555.42.07"), odd);
        BOOST_TEST(!wins(odd, "555.42.07", std::vector<unsigned>{555}), odd);
        BOOST_TEST(!wins("9999.1", odd), odd);
    }
}

BOOST_AUTO_TEST_CASE(the_newer_version_of_cuda_wins_where_hosts_are_known_by_it)
{
    const auto wins_by_cuda = [](const std::string &theirs, const std::string &ours) {
        return has_newer_cuda({"575.51.03", std::vector<unsigned>{}, {}, theirs}, ours);
    };
    BOOST_TEST(
        (wins_by_cuda("12.9", "12.6") && wins_by_cuda("13.0", "12.9") && wins_by_cuda("12.10", "12.9")));
    for (const char *theirs : {"12.6", "12.5", "11.9", "", "x", "12."})
        BOOST_TEST(!wins_by_cuda(theirs, "12.6"), theirs);
    for (const char *ours : {"", "x", "12.x"})
        BOOST_TEST(!wins_by_cuda("12.9", ours), ours);
}

BOOST_FIXTURE_TEST_CASE(the_libraries_of_the_version_of_libcuda_are_found, ImageRoot)
{
    compat(cuda_file, cuda());
    compat("libnvidia-ptxjitcompiler.so.575.51.03", library("libnvidia-ptxjitcompiler.so.1"));
    compat("libnvidia-nvvm.so.575.51.03", library("libnvidia-nvvm.so.4"));
    compat("libcuda+x_Y-1.so.575.51.03", library("libcuda+x_Y-1.so"));
    compat_link("libcuda.so.1", cuda_file);
    compat_link("libcuda.so", "libcuda.so.1");
    BOOST_TEST(read() ==
               "575.51.03: libcuda+x_Y-1.so=libcuda+x_Y-1.so.575.51.03 libcuda.so.1=libcuda.so.575.51.03 "
               "libnvidia-nvvm.so.4=libnvidia-nvvm.so.575.51.03 "
               "libnvidia-ptxjitcompiler.so.1=libnvidia-ptxjitcompiler.so.575.51.03");
}

BOOST_FIXTURE_TEST_CASE(what_libcuda_says_of_drivers_is_read, ImageRoot)
{
    compat(cuda_file, cuda());
    auto found = read_cuda_compat(ImageInDirectory(path("root")).reader(), notes);
    BOOST_REQUIRE(found.has_value());
    BOOST_TEST((found->drivers == std::vector<unsigned>{535, 550}));
    compat(cuda_file, library("libcuda.so.1"));
    found = read_cuda_compat(ImageInDirectory(path("root")).reader(), notes);
    BOOST_REQUIRE(found.has_value());
    BOOST_TEST(!found->drivers.has_value());
}

BOOST_FIXTURE_TEST_CASE(other_files_are_left_out, ImageRoot)
{
    compat(cuda_file, cuda());
    for (const char *name :
         {"libx.so", "libx.so.1", "libx.so.575.51", "libx.so.575.51.030", "libx.so.575.51.03.",
          "x.so.575.51.03", "libx.so.575.51.03-old", "libx y.so.575.51.03", "lib.x.so.575.51.03",
          "libx.SO.575.51.03", "libx\nq.so.575.51.03", "lib\xc3\xa4.so.575.51.03", "libx575.51.03", "README"})
        compat(name, library(std::string(name).substr(0, std::string(name).find(".so")) + ".so.1"));
    compat("libx.so.575.51.03", "no library");
    compat("liby.so.575.51.03", library(std::nullopt));
    ElfImage narrow;
    narrow.is_64 = false;
    narrow.soname = "libw.so.1";
    compat("libw.so.575.51.03", narrow.bytes());
    BOOST_TEST(read() == only_cuda);
}

BOOST_FIXTURE_TEST_CASE(some_libraries_are_asked_for_by_their_own_name, ImageRoot)
{
    compat(cuda_file, cuda());
    compat("libnvidia-gpucomp.so.575.51.03", library("libnvidia-gpucomp.so.575.51.03"));
    BOOST_TEST(read().find("libnvidia-gpucomp.so.575.51.03") != std::string::npos);
}

BOOST_FIXTURE_TEST_CASE(no_library_takes_the_place_of_another_one, ImageRoot)
{
    compat(cuda_file, cuda());
    for (const char *soname :
         {"libcuda.so.1", "libc.so.6", "..", ".", "../libx.so.1", "", "libx.so.1.so", "libx.so.",
          "libx.so.1\n", "libx.so.1x", "LIBX.so.1", "libx", ".oci-gpu-hooks"}) {
        compat("libx.so.575.51.03", library(soname));
        BOOST_TEST(read() == only_cuda, soname);
    }
}

BOOST_FIXTURE_TEST_CASE(links_lead_where_they_lead_in_the_root, ImageRoot)
{
    directory("root/opt/cuda-12.9");
    std::filesystem::rename(path("root/usr/local/cuda/compat"), path("root/opt/cuda-12.9/compat"));
    std::filesystem::remove(path("root/usr/local/cuda"));
    link("root/usr/local/cuda", "/etc/alternatives/cuda");
    directory("root/etc/alternatives");
    link("root/etc/alternatives/cuda", "../../../../../opt/cuda-12.9");
    file("root/data/real", cuda());
    link("root/opt/cuda-12.9/compat/libcuda.so.575.51.03", "/../../data/real");
    BOOST_TEST(read() == only_cuda);
}

BOOST_FIXTURE_TEST_CASE(links_do_not_lead_out_of_the_root, ImageRoot)
{
    for (const std::string &target :
         {path("outside/libcuda.so.575.51.03"), std::string("../../../../../outside/libcuda.so.575.51.03"),
          std::string("/proc/self/exe"), std::string("/nowhere"), std::string(cuda_file)}) {
        compat_link(cuda_file, target);
        BOOST_TEST(read() == "ignored", target);
        BOOST_TEST(says("'/usr/local/cuda/compat/libcuda.so.575.51.03' is no library"), target);
        std::filesystem::remove(path(in_image + std::string(cuda_file)));
    }
    std::filesystem::remove(path(in_image));
    link("root/usr/local/cuda/compat", path("outside"));
    BOOST_TEST(read() == "nothing");
}

BOOST_FIXTURE_TEST_CASE(nothing_but_plain_files_is_opened, ImageRoot)
{
    compat(cuda_file, cuda());
    const std::string fifo = path(in_image + std::string("libfifo.so.575.51.03"));
    BOOST_REQUIRE(::mkfifo(fifo.c_str(), 0666) == 0);
    directory(in_image + std::string("libdirectory.so.575.51.03"));
    compat_link("liblink.so.575.51.03", "libfifo.so.575.51.03");
    compat_link("libloop.so.575.51.03", "libloop.so.575.51.03");
    compat_link("libbelow.so.575.51.03", "libcuda.so.575.51.03/x");
    const Watch watch(fifo);
    const Watch seen(path(in_image + std::string(cuda_file)));
    BOOST_TEST(read() == only_cuda);
    BOOST_TEST(!watch.was_opened());
    BOOST_TEST(seen.was_opened());
}

BOOST_FIXTURE_TEST_CASE(a_libcuda_that_is_none_is_ignored, ImageRoot)
{
    ElfImage narrow;
    narrow.is_64 = false;
    narrow.soname = "libcuda.so.1";
    for (const std::string &content :
         {std::string(), std::string("no library"), narrow.bytes(), library(std::nullopt), cuda("libc.so.6"),
          cuda(cuda_file), cuda().substr(0, 100)}) {
        compat(cuda_file, content);
        compat("libx.so.575.51.03", library("libx.so.1"));
        BOOST_TEST(read() == "ignored");
    }
    std::filesystem::remove(path(in_image + std::string(cuda_file)));
    BOOST_REQUIRE(::mkfifo(path(in_image + std::string(cuda_file)).c_str(), 0666) == 0);
    BOOST_TEST(read() == "ignored");
}

BOOST_FIXTURE_TEST_CASE(there_is_exactly_one_libcuda, ImageRoot)
{
    BOOST_TEST(read() == "none");
    compat("libcuda.so.1", cuda());
    compat("libcuda.so.575", cuda());
    compat("libcuda.so.575.1.2.3", cuda());
    compat("libcuda.so.99999999999999999999.1", cuda());
    compat("libcuda.so.575.51.03.", cuda());
    BOOST_TEST(read() == "none");
    compat(cuda_file, cuda());
    BOOST_TEST(read() == only_cuda);
    compat_link("libcuda.so.560.1", "/nowhere");
    BOOST_TEST(read() == "ignored");
    BOOST_TEST(says("'/usr/local/cuda/compat' has libcuda in 2 versions"));
}

BOOST_FIXTURE_TEST_CASE(a_directory_with_too_many_files_is_ignored, ImageRoot)
{
    compat(cuda_file, cuda());
    for (int i = 0; i < 255; ++i)
        compat("libx" + std::to_string(i) + ".so.1", "");
    compat("README", "");
    BOOST_TEST(read() == only_cuda);
    compat("libx.so.1", "");
    BOOST_TEST(read() == "ignored");
    BOOST_TEST(says("has more than 256 entries to read"));
}

BOOST_FIXTURE_TEST_CASE(what_is_no_directory_is_ignored, ImageRoot)
{
    std::filesystem::remove(path(in_image));
    BOOST_TEST(read() == "nothing");
    file("root/usr/local/cuda/compat", "");
    BOOST_TEST(read() == "ignored");
    std::filesystem::remove(path("root/usr/local/cuda/compat"));
    BOOST_REQUIRE(::mkfifo(path("root/usr/local/cuda/compat").c_str(), 0666) == 0);
    BOOST_TEST(read() == "ignored");
    std::filesystem::remove_all(path("root/usr/local/cuda"));
    link("root/usr/local/cuda", "cuda");
    BOOST_TEST(read() == "ignored");
    BOOST_TEST(says("Too many levels of symbolic links"));
}

BOOST_AUTO_TEST_SUITE_END()
