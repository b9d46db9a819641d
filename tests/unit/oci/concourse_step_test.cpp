// SPDX-License-Identifier: Apache-2.0
#include <boost/test/unit_test.hpp>

#include "oci/concourse_step.h"

BOOST_AUTO_TEST_SUITE(concourse_step)

using namespace ogh;

namespace {

/** A container of Concourse with what every one has mounted, and volumes at these places. */
Config container(const std::vector<std::string> &volumes)
{
    Config config;
    config.program = "/tmp/gdn-init";
    for (const char *each : {"/tmp/gdn-init", "/scratch", "/etc/hosts", "/etc/hostname", "/etc/resolv.conf"})
        config.binds.push_back({each});
    for (const std::string &volume : volumes)
        config.binds.push_back({volume});
    return config;
}

bool is(ConcourseStep step, const std::vector<std::string> &volumes)
{
    return ogh::concourse_step(container(volumes)) == step;
}

} // namespace

BOOST_AUTO_TEST_CASE(what_another_engine_runs_is_none)
{
    Config config = container({"/tmp/build/get"});
    for (const char *program : {"", "/bin/sh", "gdn-init", "/tmp/gdn-init2"}) {
        config.program = program;
        BOOST_TEST((ogh::concourse_step(config) == ConcourseStep::None), program);
    }
}

BOOST_AUTO_TEST_CASE(a_task_has_a_directory_of_eight_digits)
{
    BOOST_TEST(is(ConcourseStep::Task, {"/tmp/build/0123abcd"}));
    BOOST_TEST(is(ConcourseStep::Task, {"/tmp/build/e55deab7", "/tmp/build/e55deab7/repo", "/opt/cache"}));
    BOOST_TEST(is(ConcourseStep::Task, {"/tmp/build/0123abcd/"}));
}

BOOST_AUTO_TEST_CASE(get_put_and_check_are_resources)
{
    BOOST_TEST(is(ConcourseStep::Resource, {"/tmp/build/get", "/etc/ssl/certs"}));
    BOOST_TEST(
        is(ConcourseStep::Resource, {"/tmp/build/put", "/tmp/build/put/repo", "/tmp/build/put/0123abcd"}));
    BOOST_TEST(is(ConcourseStep::Resource, {"/tmp/build/put/", "/opt/artifact"}));
    BOOST_TEST(is(ConcourseStep::Resource, {"/etc/ssl/certs"}));
    BOOST_TEST(is(ConcourseStep::Resource, {}));
}

BOOST_AUTO_TEST_CASE(an_artifact_with_a_tasks_name_makes_no_task_of_a_put)
{
    // put joins the artifact's name "../0123abcd" to its own directory.
    BOOST_TEST(is(ConcourseStep::Unknown, {"/tmp/build/0123abcd", "/tmp/build/put"}));
    BOOST_TEST(is(ConcourseStep::Unknown, {"/tmp/build/put/.", "/tmp/build/put/../0123abcd"}));
}

BOOST_AUTO_TEST_CASE(other_directories_are_of_no_known_step)
{
    for (const char *path :
         {"/tmp/build/run", "/tmp/build/0123abc", "/tmp/build/0123abcde", "/tmp/build/0123ABCD",
          "/tmp/build/0123abcg", "/tmp/build", "/work", "tmp/build/0123abcd", ""})
        BOOST_TEST(is(ConcourseStep::Unknown, {path}), path);
}

BOOST_AUTO_TEST_SUITE_END()
