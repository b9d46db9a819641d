// SPDX-License-Identifier: Apache-2.0
#include <boost/test/unit_test.hpp>
#include <nlohmann/json.hpp>

#include "edits.h"

using namespace ogh;

BOOST_AUTO_TEST_SUITE(edits)

BOOST_AUTO_TEST_CASE(json_uses_the_words_of_cdi)
{
    const Edits edits{
        {{"/srv/a", "/in/a", Kind::Directory, true}, {"/srv/f_rw", "/in/f_rw", Kind::File, false}}};
    const auto json = nlohmann::json::parse(to_json(edits));
    const auto expected = nlohmann::json::parse(R"({"containerEdits":{"mounts":[
        {"hostPath":"/srv/a","containerPath":"/in/a","options":["rbind","ro","nosuid","nodev","rprivate"]},
        {"hostPath":"/srv/f_rw","containerPath":"/in/f_rw","options":["bind","rw","nosuid","nodev","rprivate"]}]}})");
    BOOST_TEST(json == expected);
}

BOOST_AUTO_TEST_CASE(json_without_edits_is_still_json)
{
    BOOST_TEST(nlohmann::json::parse(to_json({})).at("containerEdits").at("mounts").empty());
}

BOOST_AUTO_TEST_CASE(json_has_files_with_their_content_if_it_is_text)
{
    const Edits edits{.files = {{"/etc/a", "line\n", FileEdit::How::Replace},
                                {"/etc/b", std::string("x\0y", 3), FileEdit::How::MountOver}}};
    const auto expected =
        nlohmann::json::parse(R"([{"path":"/etc/a","how":"replace","size":5,"content":"line\n"},
        {"path":"/etc/b","how":"mount","size":3}])");
    BOOST_TEST(nlohmann::json::parse(to_json(edits)).at("files") == expected);
}

BOOST_AUTO_TEST_CASE(names_of_any_bytes_become_valid_json)
{
    const Edits edits{{{"/srv/a\xff\n\"", "/srv/a\xff\n\"", Kind::Directory, true}}};
    const auto json = nlohmann::json::parse(to_json(edits));
    BOOST_TEST(json["containerEdits"]["mounts"][0]["hostPath"] == "/srv/a\\xff\n\"");
}

BOOST_AUTO_TEST_SUITE_END()
