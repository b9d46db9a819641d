// SPDX-License-Identifier: Apache-2.0
#include <filesystem>

#include <boost/test/unit_test.hpp>

#include "base/error.h"
#include "listing/podman_names.h"
#include "support/temp_directory.h"

BOOST_AUTO_TEST_SUITE(podman_names)

using namespace ogh;

namespace {

const std::string list = R"([{"id":"3f2a","names":["train"],"metadata":"{\"image-name\":\"docker.io/x:1\"}"},
    {"id":"b","names":null}, {"names":7,"metadata":9}, 5])";

} // namespace

BOOST_AUTO_TEST_CASE(names_and_images_are_those_of_the_list)
{
    const auto names = parse_podman_names(list);
    BOOST_TEST((names.at("3f2a") == PodmanName{"train", "docker.io/x:1"}));
    BOOST_TEST((names.at("b") == PodmanName()));
    for (const char *const wrong : {"", "[", "{}]", "[{\"id\":\"a\",\"metadata\":\"{\"}]"})
        BOOST_CHECK_THROW(parse_podman_names(wrong), Error);
}

BOOST_AUTO_TEST_CASE(a_bundle_in_podmans_storage_leads_to_the_list)
{
    const test::TempDirectory directory;
    const std::string storage = directory.path("overlay-containers");
    directory.file("overlay-containers/containers.json", list);
    const auto name_of = [&](const std::string &bundle, const std::string &id) {
        LeaseList leases;
        leases.entries.emplace_back();
        leases.entries.front().container = id;
        leases.entries.front().label.bundle = bundle;
        add_podman_names(leases);
        return leases.entries.front().label.name;
    };
    BOOST_TEST(name_of(storage + "/3f2a/userdata", "3f2a") == "train");
    BOOST_TEST(name_of(storage + "/3f2a/userdata", "b") == "");
    BOOST_TEST(name_of(directory.path() + "/3f2a/userdata", "3f2a") == "");
    std::filesystem::rename(storage + "/containers.json", storage + "/volatile-containers.json");
    BOOST_TEST(name_of(storage + "/3f2a/userdata", "3f2a") == "train");
    std::filesystem::permissions(storage + "/volatile-containers.json", std::filesystem::perms::others_write,
                                 std::filesystem::perm_options::add);
    BOOST_TEST(name_of(storage + "/3f2a/userdata", "3f2a") == "");
}

BOOST_AUTO_TEST_SUITE_END()
