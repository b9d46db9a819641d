// SPDX-License-Identifier: Apache-2.0
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include <boost/test/unit_test.hpp>
#include <nlohmann/json.hpp>

#include "history/history.h"
#include "support/temp_directory.h"

BOOST_AUTO_TEST_SUITE(history)

using namespace ogh;
using test::TempDirectory;

namespace {

std::string text_of(const std::string &path)
{
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

} // namespace

BOOST_AUTO_TEST_CASE(a_line_is_json_whatever_the_texts_are)
{
    HistoryLine line;
    line.add("empty", "");
    line.add("text", "a\"\\\n\x1b\xff\xc3\xa4");
    line.add("long", std::string(5000, '\x01'));
    line.add("list", std::vector<std::string>{"a", "\n"});
    line.add("none", std::vector<std::string>());
    line.add_time("time", 61'002'999'999);
    line.add_time("before", -1);
    line.add_number("number", 7);
    const std::string text = std::move(line).end();
    BOOST_TEST(text.find_first_not_of("\n") == 0);
    BOOST_TEST(text.find('\n') + 1 == text.size());
    const auto object = nlohmann::json::parse(text);
    BOOST_TEST(object == nlohmann::json({{"text", "a\"\\\n\x1b\\xff\xc3\xa4"},
                                         {"long", std::string(2000, '\x01')},
                                         {"list", {"a", "\n"}},
                                         {"none", nlohmann::json::array()},
                                         {"time", 61.002},
                                         {"before", 0.0},
                                         {"number", 7}}));
}

BOOST_AUTO_TEST_CASE(a_line_of_which_a_full_disk_has_cut_the_end_off_spoils_no_other)
{
    const TempDirectory directory;
    History history(Sysroot(directory.path()), default_history, "mount-srv");
    const std::string file = directory.path("var/lib/oci-gpu-hooks/history");
    history.add(history.begin("a"));
    const std::string whole = text_of(file);
    std::ofstream(file, std::ios::app) << whole.substr(0, whole.size() - 1);
    history.add(history.begin("b"));
    history.add(history.begin("c"));
    BOOST_TEST(text_of(file).find("}\n{") != std::string::npos);
    BOOST_TEST(text_of(file).find("}{") == std::string::npos);
    BOOST_TEST(text_of(file).find("\n\n") == std::string::npos);
}

BOOST_AUTO_TEST_CASE(lines_are_added_and_the_file_is_bounded)
{
    const TempDirectory directory;
    History history(Sysroot(directory.path()), default_history, "mount-srv");
    const std::string file = directory.path("var/lib/oci-gpu-hooks/history");
    history.add(history.begin("a"));
    history.add(history.begin("b"));
    BOOST_TEST(history.problem() == "");
    const std::string text = text_of(file);
    BOOST_TEST(text.find("\"event\":\"a\",\"hook\":\"mount-srv\"}\n{\"time\":\"") != std::string::npos, text);
    std::ofstream(file, std::ios::app) << std::string(max_history, '\n');
    history.add(history.begin("c"));
    BOOST_TEST(!std::filesystem::exists(file));
    history.add(history.begin("d"));
    BOOST_TEST(text_of(file + ".1").starts_with(text));
    BOOST_TEST(text_of(file + ".1").find("\"event\":\"c\"") != std::string::npos);
    BOOST_TEST(text_of(file).find("\"event\":\"d\"") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_path_by_a_symlink_and_a_file_of_others_is_none)
{
    const TempDirectory directory;
    directory.directory("real");
    directory.link("linked", directory.path("real"));
    directory.file("open");
    ::chmod(directory.path("open").c_str(), 0644);
    directory.file("other");
    ::chmod(directory.path("other").c_str(), 0600);
    directory.link("last", directory.path("other"));
    for (const char *const path : {"/linked/history", "/open", "/open/history", "/real", "/last"}) {
        History history(Sysroot(directory.path()), path, "mount-srv");
        history.add(history.begin("a"));
        BOOST_TEST(history.problem() != "", path);
    }
    BOOST_TEST(!std::filesystem::exists(directory.path("real/history")));
}

BOOST_AUTO_TEST_SUITE_END()
