// SPDX-License-Identifier: Apache-2.0
#include <functional>

#include <boost/test/unit_test.hpp>

#include "libraries/loader_plan.h"
#include "libraries/merged_cache.h"
#include "loader/ld_cache.h"

BOOST_AUTO_TEST_SUITE(loader_plan)

using namespace ogh;
using How = FileEdit::How;

namespace {

constexpr const char *directory = "/opt/lib";
constexpr const char *own_text =
    "# Directories that were put into this container by oci-gpu-hooks\n/opt/lib\n";
constexpr const char *include_line = "include /etc/ld.so.conf.d/*.conf\n";

LoaderFile plain(std::string content)
{
    return {.state = LoaderFile::State::Plain,
            .content = std::move(content),
            .problem = {},
            .why_not_replace = {}};
}

LoaderFile unreadable()
{
    return {.state = LoaderFile::State::Other,
            .content = {},
            .problem = "is no plain file",
            .why_not_replace = {}};
}

AddedLibrary library(const std::string &name, const std::string &subdirectory = "")
{
    return {name, std::string(directory) + "/" + name, 0x0303, 0, subdirectory};
}

/** A cache of the image's own. */
std::string old_cache(const std::string &path = "/lib/libc.so.6")
{
    return ogh::merged_cache(nullptr, {}, {{"libc.so.6", path, 0x0303, 0, ""}});
}

/** Debian's files, and one library to add. */
LoaderImage debian()
{
    LoaderImage image;
    image.has_glibc = true;
    image.cache = plain(old_cache());
    image.conf = plain(include_line);
    image.directories = {directory};
    image.libraries = {library("libnew.so.1")};
    return image;
}

/** An image after this plan. */
LoaderImage after(LoaderImage image, const Edits &edits)
{
    for (const FileEdit &edit : edits.files) {
        LoaderFile *file = edit.container_path == loader_cache_path      ? &image.cache
                           : edit.container_path == loader_conf_path     ? &image.conf
                           : edit.container_path == own_loader_conf_path ? &image.own_conf
                                                                         : &image.musl.at(0).file;
        file->state = LoaderFile::State::Plain;
        file->content = edit.content;
        file->why_not_replace = edit.how == How::MountOver ? "something is mounted on it" : "";
    }
    return image;
}

struct Planned {
    Edits edits;
    Notes notes;

    explicit Planned(const LoaderImage &image, bool read_only = false)
    {
        edits = plan_loader_files(image, read_only, notes);
    }

    /** "PATH replace" or "PATH mount", in order. */
    [[nodiscard]] std::vector<std::string> files() const
    {
        std::vector<std::string> files;
        for (const FileEdit &edit : edits.files)
            files.push_back(edit.container_path + (edit.how == How::Replace ? " replace" : " mount"));
        return files;
    }

    [[nodiscard]] const std::string &content(const std::string &path) const
    {
        for (const FileEdit &edit : edits.files) {
            if (edit.container_path == path)
                return edit.content;
        }
        throw std::runtime_error("no edit of " + path);
    }

    [[nodiscard]] bool warns(const std::string &words) const
    {
        return std::any_of(notes.begin(), notes.end(), [&](const Note &note) {
            return note.level == LogLevel::Warning && note.text.find(words) != std::string::npos;
        });
    }

    /** The names in the cache that is written, in order. */
    [[nodiscard]] std::vector<std::string> names() const
    {
        std::vector<std::string> names;
        const auto parsed = parse_ld_cache(content(loader_cache_path));
        for (const LdCacheEntry &entry : std::get<LdCache>(parsed).entries)
            names.emplace_back(entry.name);
        return names;
    }
};

using Lines = std::vector<std::string>;

constexpr const char *own_conf = "/etc/ld.so.conf.d/00-oci-gpu-hooks.conf replace";
constexpr const char *conf = "/etc/ld.so.conf replace";
constexpr const char *cache = "/etc/ld.so.cache replace";
constexpr const char *over_cache = "/etc/ld.so.cache mount";

struct Case {
    const char *what;
    std::function<void(LoaderImage &)> change; ///< of debian()
    Lines files;
    Lines warnings = {}; ///< words of them; none: there are no notes
    Lines names = {};    ///< none: not looked at
    bool read_only = false;
};

} // namespace

#define CHECK_EQUAL_LINES(a, b) BOOST_TEST((a) == (b), boost::test_tools::per_element())

/** It goes by being written over, with the same. */
BOOST_AUTO_TEST_CASE(what_a_killed_run_has_left_beside_a_file_goes)
{
    LoaderImage image = debian();
    image.cache = plain(Planned(image, false).content(loader_cache_path));
    CHECK_EQUAL_LINES(Planned(image, false).files(), Lines{own_conf});
    image.cache.has_leftover = true;
    CHECK_EQUAL_LINES(Planned(image, false).files(), (Lines{own_conf, cache}));
}

BOOST_AUTO_TEST_CASE(which_files_are_written_and_what_is_in_the_cache)
{
    const std::vector<Case> cases{
        {"Debian's", [](auto &) {}, {own_conf, cache}, {}, {"libnew.so.1", "libc.so.6"}},
        {"under a read-only root", [](auto &image) { image.conf = {}; }, {over_cache}, {}, {}, true},
        {"in a volume nothing is written",
         [](auto &image) {
             image.conf = plain("/usr/lib\n");
             for (LoaderFile *file : {&image.cache, &image.conf, &image.own_conf})
                 file->why_not_replace = "it would lie in a volume ('/etc')";
         },
         {over_cache},
         {"'/etc/ld.so.conf.d/00-oci-gpu-hooks.conf' stays as it is", "'/etc/ld.so.conf' stays as it is",
          "in a volume ('/etc')"}},
        {"what is mounted on is mounted over",
         [](auto &image) { image.cache.why_not_replace = "something is mounted on it"; },
         {own_conf, over_cache}},
        {"a conf without the directory",
         [](auto &image) { image.conf = plain("# mine\n/opt/mine\n"); },
         {own_conf, conf, cache}},
        {"a conf that cannot be read stays",
         [](auto &image) { image.conf = unreadable(); },
         {own_conf, cache},
         {"'/etc/ld.so.conf' in the container is no plain file"}},
        {"a cache that is none",
         [](auto &image) { image.cache = plain("no cache"); },
         {own_conf, cache},
         {"'/etc/ld.so.cache' in the container cannot be used"},
         {"libnew.so.1"}},
        {"a cache that cannot be read",
         [](auto &image) { image.cache = unreadable(); },
         {own_conf, cache},
         {"a new one takes its place: is no plain file"},
         {"libnew.so.1"}},
        {"no cache", [](auto &image) { image.cache = {}; }, {own_conf, cache}, {}, {"libnew.so.1"}},
        {"an entry that leads outside",
         // The offset of the first path, behind a header of 48 bytes.
         [](auto &image) { image.cache.content.replace(0x30 + 8, 2, 2, '\xff'); },
         {own_conf, cache},
         {"has 1 entries that lead outside of it"},
         {"libnew.so.1"}},
        {"without libraries the cache stays", [](auto &image) { image.libraries.clear(); }, {own_conf}},
        {"neither libraries nor a cache",
         [](auto &image) {
             image.libraries.clear();
             image.cache = {};
         },
         {own_conf}},
        {"variants for newer processors",
         [](auto &image) { image.libraries.push_back(library("libfast.so.1", "x86-64-v3")); },
         {own_conf, cache},
         {},
         {"libnew.so.1", "libfast.so.1", "libc.so.6"}},
        {"and a glibc that does not know them",
         [](auto &image) {
             image.libraries.push_back(library("libfast.so.1", "x86-64-v3"));
             // The form without extensions, as glibc before 2.33 has it: their offset is 0.
             image.cache.content.replace(32, 4, 4, '\0');
         },
         {own_conf, cache},
         {},
         {"libnew.so.1", "libc.so.6"}},
    };
    for (const Case &each : cases) {
        BOOST_TEST_CONTEXT(each.what)
        {
            LoaderImage image = debian();
            each.change(image);
            const Planned planned(image, each.read_only);
            CHECK_EQUAL_LINES(planned.files(), each.files);
            for (const std::string &words : each.warnings)
                BOOST_TEST(planned.warns(words), words);
            BOOST_TEST(planned.notes.empty() == each.warnings.empty());
            if (!each.names.empty())
                CHECK_EQUAL_LINES(planned.names(), each.names);
        }
    }
}

BOOST_AUTO_TEST_CASE(the_files_of_directories_keep_what_is_in_them)
{
    LoaderImage image = debian();
    BOOST_TEST(Planned(image).content(own_loader_conf_path) == own_text);
    image.own_conf = plain("# any\n/opt/old # x\n  /opt/lib\n\n"); // of an earlier run: behind the new ones
    BOOST_TEST(Planned(image).content(own_loader_conf_path) == std::string(own_text) + "/opt/old\n");
    const std::string include = "include /etc/ld.so.conf.d/00-oci-gpu-hooks.conf\n";
    image.conf = plain("# mine\n/opt/mine\n");
    BOOST_TEST(Planned(image).content(loader_conf_path) == include + "# mine\n/opt/mine\n");
    image.conf = {};
    BOOST_TEST(Planned(image).content(loader_conf_path) == include);
}

BOOST_AUTO_TEST_CASE(a_second_run_has_nothing_to_do)
{
    for (const bool read_only : {false, true}) {
        const LoaderImage image = after(debian(), Planned(debian(), read_only).edits);
        BOOST_TEST((Planned(image, read_only).edits == Edits{}));
    }
}

BOOST_AUTO_TEST_CASE(old_entries_of_a_directory_go_even_if_nothing_takes_their_place)
{
    LoaderImage image = debian();
    image.libraries.clear();
    image.cache = plain(old_cache("/opt/lib/libc.so.6"));
    CHECK_EQUAL_LINES(Planned(image).names(), Lines());
}

BOOST_AUTO_TEST_CASE(musl_searches_the_directories_before_its_own)
{
    LoaderImage image = debian();
    image.has_glibc = false;
    image.musl = {{"/etc/ld-musl-x86_64.path", {}}};
    for (const bool read_only :
         {false, true}) { // an empty file to mount on would leave musl without any directory
        const Planned planned(image, read_only);
        CHECK_EQUAL_LINES(planned.files(), Lines{"/etc/ld-musl-x86_64.path replace"});
        BOOST_TEST(planned.content("/etc/ld-musl-x86_64.path") ==
                   "/opt/lib\n/lib\n/usr/local/lib\n/usr/lib\n");
        BOOST_TEST((Planned(after(image, planned.edits), read_only).edits == Edits{}));
    }
}

BOOST_AUTO_TEST_CASE(musls_own_file_keeps_what_is_in_it)
{
    LoaderImage image = debian();
    image.has_glibc = false;
    image.directories = {"/opt/lib", "/a", "/b"};
    image.musl = {{"/etc/ld-musl-x86_64.path", plain("/own:/b:/lib\n/x")}};
    BOOST_TEST(Planned(image).content("/etc/ld-musl-x86_64.path") == "/opt/lib\n/a\n/b\n/own\n/lib\n/x\n");
    CHECK_EQUAL_LINES(Planned(image, true).files(), Lines{"/etc/ld-musl-x86_64.path mount"});
    image.musl.front().file = plain("/opt/lib:/a::/b\n/lib"); // as it should be, in another way
    BOOST_TEST((Planned(image).edits == Edits{}));
    image.musl.front().file = plain("");
    BOOST_TEST(Planned(image).content("/etc/ld-musl-x86_64.path") == "/opt/lib\n/a\n/b\n");
    image.musl.front().file.state =
        LoaderFile::State::Other; // what musl searches otherwise is not lost with it
    BOOST_TEST(Planned(image).content("/etc/ld-musl-x86_64.path") ==
               "/opt/lib\n/a\n/b\n/lib\n/usr/local/lib\n/usr/lib\n");
}

BOOST_AUTO_TEST_CASE(what_is_written_has_the_mode_for_what_it_replaces)
{
    LoaderImage image = debian();
    image.cache.mode = image.conf.mode = 0600;
    for (const bool read_only : {false, true}) {
        for (const FileEdit &file : Planned(image, read_only).edits.files)
            BOOST_TEST(file.mode == (file.container_path == own_loader_conf_path ? 0644U : 0600U),
                       file.container_path);
    }
}

BOOST_AUTO_TEST_CASE(without_a_loader_or_a_directory_there_is_nothing_to_do)
{
    LoaderImage image = debian();
    image.has_glibc = false;
    Planned planned(image);
    BOOST_TEST((planned.edits == Edits{}));
    BOOST_TEST(planned.notes.at(0).text.find("neither glibc's loader nor musl's") != std::string::npos);
    image = debian();
    image.directories.clear();
    planned = Planned(image);
    BOOST_TEST((planned.edits == Edits{}));
    BOOST_TEST(planned.notes.at(0).text.find("nothing to do") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(where_no_cache_is_read_the_variable_that_helps_is_said)
{
    LoaderImage image = debian();
    image.directories.emplace_back("/opt/lib32");
    image.without_cache = {"/nix/store"};
    BOOST_TEST(
        Planned(image).warns("programs with the loader of '/nix/store' do not read '/etc/ld.so.cache'"));
    BOOST_TEST(Planned(image).warns("LD_LIBRARY_PATH=/opt/lib:/opt/lib32 in the container's environment"));
    image.library_path = "/x:/opt/lib";
    BOOST_TEST(Planned(image).warns("LD_LIBRARY_PATH=/opt/lib:/opt/lib32 "));
    image.library_path = "/x:/opt/lib32:/opt/lib";
    BOOST_TEST(Planned(image).notes.empty());
    image.has_glibc = false;
    image.without_cache.clear();
    BOOST_TEST(Planned(image).notes.empty());
}

BOOST_AUTO_TEST_CASE(include_lines_are_understood_as_ldconfig_does)
{
    for (const char *text :
         {"include /etc/ld.so.conf.d/*.conf", "include ld.so.conf.d/*.conf\n", " \tinclude\tld.so.conf.d/*",
          "/lib\ninclude a.conf  ld.so.conf.d/0*.conf # x", "include /etc/*/00-oci-gpu-hooks.conf",
          "include /etc/ld.so.conf.d/[0-9]?-*.conf"})
        BOOST_TEST(includes_own_conf(text), text);
    for (const char *text : {"", "# include ld.so.conf.d/*.conf", "includeld.so.conf.d/*.conf", "include",
                             "include /etc/*.conf", "include ld.so.conf.d/*.txt",
                             "/include ld.so.conf.d/*.conf", "include conf.d/*.conf", "include ld.so.conf.d"})
        BOOST_TEST(!includes_own_conf(text), text);
}

BOOST_AUTO_TEST_CASE(long_lists_of_an_image_take_no_quadratic_time)
{
    std::string lines;
    while (lines.size() < 1000000)
        lines += "/" + std::to_string(lines.size()) + "\n";
    LoaderImage image = debian();
    image.own_conf = plain(lines);
    image.musl = {{"/etc/ld-musl-x86_64.path", plain(lines)}};
    BOOST_TEST(Planned(image).content(own_loader_conf_path) == own_text + lines);
    BOOST_TEST(Planned(image).content("/etc/ld-musl-x86_64.path") == "/opt/lib\n" + lines);
}

BOOST_AUTO_TEST_CASE(include_patterns_with_many_ways_to_match_take_no_time)
{
    std::string pattern = "include ld.so.conf.d/";
    for (int i = 0; i < 20; ++i)
        pattern += "*?";
    std::string text;
    while (text.size() < 1000000)
        text += pattern + "x\n";
    BOOST_TEST(!includes_own_conf(text));
}

BOOST_AUTO_TEST_SUITE_END()
