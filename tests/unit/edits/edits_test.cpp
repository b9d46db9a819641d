// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include <boost/test/unit_test.hpp>
#include <nlohmann/json.hpp>

#include "edits/edits.h"

BOOST_AUTO_TEST_SUITE(edits)

using namespace ogh;

namespace {

/** What --plan prints, with what CDI has no word for beside containerEdits. */
nlohmann::json planned(const Edits &edits)
{
    const auto specification = nlohmann::json::parse(to_json(edits));
    const auto &device = specification.at("devices").at(0);
    nlohmann::json plan = {{"containerEdits", device.at("containerEdits")}};
    const auto annotations = device.value("annotations", nlohmann::json::object());
    for (const auto &[key, value] : annotations.items())
        plan[key.substr(key.find('/') + 1)] = nlohmann::json::parse(value.get<std::string>());
    return plan;
}

} // namespace

BOOST_AUTO_TEST_CASE(json_is_a_specification_of_one_device)
{
    const Edits edits{.nodes = {{"/dev/a", "/dev/a", 1, 3}}, .links = {{"/b", "a"}}};
    const auto json = nlohmann::json::parse(to_json(edits));
    BOOST_TEST(json ==
               nlohmann::json::parse(R"({"cdiVersion":"0.6.0","kind":"io.oci-gpu-hooks/plan","devices":[
        {"name":"plan","annotations":{"io.oci-gpu-hooks/links":"[{\"path\":\"/b\",\"target\":\"a\"}]",
                                      "io.oci-gpu-hooks/cgroup":"[\"c 1:3 rw\"]"},
         "containerEdits":{"deviceNodes":[{"path":"/dev/a","hostPath":"/dev/a","type":"c","major":1,"minor":3,
                                           "fileMode":438,"permissions":"rw"}],"mounts":[]}}]})"));
    BOOST_TEST(!nlohmann::json::parse(to_json({})).at("devices").at(0).contains("annotations"));
}

BOOST_AUTO_TEST_CASE(json_uses_the_words_of_cdi)
{
    const Edits edits{
        {{"/srv/a", "/in/a", Kind::Directory, true}, {"/srv/f_rw", "/in/f_rw", Kind::File, false}}};
    const auto json = planned(edits);
    const auto expected = nlohmann::json::parse(R"({"containerEdits":{"mounts":[
        {"hostPath":"/srv/a","containerPath":"/in/a","options":["rbind","ro","nosuid","nodev","rprivate"]},
        {"hostPath":"/srv/f_rw","containerPath":"/in/f_rw","options":["bind","rw","nosuid","nodev","rprivate"]}]}})");
    BOOST_TEST(json == expected);
}

BOOST_AUTO_TEST_CASE(json_without_edits_is_still_json)
{
    BOOST_TEST(planned({}).at("containerEdits").at("mounts").empty());
}

BOOST_AUTO_TEST_CASE(json_has_files_with_their_content_if_it_is_text)
{
    const Edits edits{.files = {{"/etc/a", "line\n", FileEdit::How::Replace},
                                {"/etc/b", std::string("x\0y", 3), FileEdit::How::MountOver}}};
    const auto expected =
        nlohmann::json::parse(R"([{"path":"/etc/a","how":"replace","size":5,"content":"line\n"},
        {"path":"/etc/b","how":"mount","size":3}])");
    BOOST_TEST(planned(edits).at("files") == expected);
}

BOOST_AUTO_TEST_CASE(json_has_nodes_links_and_the_rules_for_the_nodes)
{
    const Edits edits{.nodes = {{"/dev/nvidia3", "/host/dev/nvidia3", 195, 3},
                                {"/dev/nvidia-uvm", "/host/dev/nvidia-uvm", 510, 0}},
                      .links = {{"/dev/dri/by-path/pci-0000:5e:00.0-card", "../card2"}}};
    const auto expected = nlohmann::json::parse(R"({"containerEdits":{"deviceNodes":[
        {"path":"/dev/nvidia3","hostPath":"/host/dev/nvidia3","type":"c","major":195,"minor":3,"fileMode":438,
         "permissions":"rw"},
        {"path":"/dev/nvidia-uvm","hostPath":"/host/dev/nvidia-uvm","type":"c","major":510,"minor":0,
         "fileMode":438,"permissions":"rw"}],"mounts":[]},
        "links":[{"path":"/dev/dri/by-path/pci-0000:5e:00.0-card","target":"../card2"}],
        "cgroup":["c 195:3 rw","c 510:0 rw"]})");
    BOOST_TEST(planned(edits) == expected);
}

BOOST_AUTO_TEST_CASE(json_has_a_covered_directory_with_what_is_in_it)
{
    const Edits edits{.mounts = {{"/srv/a", "/in/a"}},
                      .files = {{"/etc/a", "b", FileEdit::How::Replace}},
                      .proc = TmpfsEdit{"/proc/driver/nvidia",
                                        {{"params", "A: 0\n"}},
                                        {{"/host/gpus/x", "/proc/driver/nvidia/gpus/x"}}}};
    const auto expected = nlohmann::json::parse(R"({"containerEdits":{"mounts":[
        {"hostPath":"/srv/a","containerPath":"/in/a","options":["rbind","ro","nosuid","nodev","rprivate"]},
        {"hostPath":"tmpfs","containerPath":"/proc/driver/nvidia","type":"tmpfs",
         "options":["ro","nosuid","nodev","noexec"]},
        {"hostPath":"/host/gpus/x","containerPath":"/proc/driver/nvidia/gpus/x",
         "options":["rbind","ro","nosuid","nodev","rprivate"]}]},
        "files":[{"path":"/etc/a","how":"replace","size":1,"content":"b"},
        {"path":"/proc/driver/nvidia/params","how":"mount","size":5,"content":"A: 0\n"}]})");
    BOOST_TEST(planned(edits) == expected);
}

BOOST_AUTO_TEST_CASE(names_of_any_bytes_become_valid_json)
{
    const Edits edits{{{"/srv/a\xff\n\"", "/srv/a\xff\n\"", Kind::Directory, true}}};
    const auto json = planned(edits);
    BOOST_TEST(json["containerEdits"]["mounts"][0]["hostPath"] == "/srv/a\\xff\n\"");
    const Edits reordered{{{"/srv/a\u202eb\u009b", "/srv/x", Kind::Directory, true}}};
    const std::string text = to_json(reordered);
    BOOST_TEST(
        (std::find_if(text.begin(), text.end(), [](char c) { return (c & '\x80') != 0; }) == text.end()));
    BOOST_TEST(planned(reordered)["containerEdits"]["mounts"][0]["hostPath"] == "/srv/a\u202eb\u009b");
    const Edits others{.nodes = {{"/dev/\xff", "/\xff", 1, 3}},
                       .links = {{"/\xff", "\xff"}},
                       .proc = TmpfsEdit{"/proc/\xff", {{"\xff", "\xff"}}, {{"/\xff", "/proc/\xff/\xff"}}}};
    BOOST_TEST(planned(others).at("links").at(0).at("target") == "\\xff");
}

BOOST_AUTO_TEST_SUITE_END()
