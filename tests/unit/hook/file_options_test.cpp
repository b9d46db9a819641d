// SPDX-License-Identifier: Apache-2.0
#include <boost/test/unit_test.hpp>

#include "hook/file_options.h"

using namespace ogh;

using Words = std::vector<std::string>;

BOOST_AUTO_TEST_SUITE(file_options)

BOOST_AUTO_TEST_CASE(only_the_policy_reaches_a_hook)
{
    const FileOptions sorted = sort_options(
        {"--allow", "0,1", "--max-devices=2", "--idmap", "--only", "a=b", "--only=c=d", "--key-file", "/k",
         "--log-file=/l", "--driver-root", "/d", "--sysroot", "/s", "--log-level", "debug"});
    BOOST_TEST(sorted.problems.empty());
    BOOST_TEST((sorted.policy ==
                Words{"--allow", "0,1", "--max-devices", "2", "--idmap", "--only", "a=b", "--only", "c=d"}));
    BOOST_TEST((sorted.others == Words{"--key-file", "/k", "--log-file", "/l", "--driver-root", "/d",
                                       "--sysroot", "/s", "--log-level", "debug"}));
}

BOOST_AUTO_TEST_CASE(no_value_is_taken_for_an_option)
{
    BOOST_TEST((sort_options({"--allow", "--drain", "0"}).policy == Words{"--allow=--drain"}));
    BOOST_TEST((sort_options({"--allow", "--drain", "0"}).problems == Words{"unexpected argument '0'"}));
    BOOST_TEST(
        (sort_options({"--request", "-h", "--request="}).policy == Words{"--request=-h", "--request="}));
}

BOOST_AUTO_TEST_CASE(which_options_are_a_limit)
{
    for (const char *const word : {"--only=a=b", "--allow=0", "--max-devices=1", "--quota=ml=2"})
        BOOST_TEST(sort_options({"--idmap", word}).has_limit, word);
    for (const char *const word :
         {"--request=--allow", "--writable=never", "--max-wait=1m", "--opt-in=always", "--source-dir=/",
          "--allow-capabilities=none", "--allow", "--max-sharers=1"})
        BOOST_TEST(!sort_options({"--idmap", word}).has_limit, word);
}

BOOST_AUTO_TEST_CASE(what_a_file_cannot_have)
{
    for (const char *const word :
         {"--drain=0", "--undrain=0", "--list", "--plan", "--cdi=x", "--list=json", "--version", "--help",
          "-h", "more", "--alow=x", "--idmap=true", "--allow", "--log-file=l", "--key-file=", "--"}) {
        const FileOptions sorted = sort_options({word});
        BOOST_TEST_CONTEXT(word)
        {
            BOOST_TEST(sorted.problems.size() == 1U);
            BOOST_TEST(sorted.policy.empty());
            BOOST_TEST(sorted.others.empty());
        }
    }
}

BOOST_AUTO_TEST_CASE(what_no_hook_takes_is_unknown)
{
    for (const char *const name : {"--ignore-health", "--monitors", "--hold-grace", "--all-steps",
                                   "--inspect", "--kind", "--imex", "--reason"})
        BOOST_TEST((sort_options({name}).problems == Words{"unknown option '" + std::string(name) + "'"}));
}

BOOST_AUTO_TEST_CASE(which_options_only_look)
{
    for (const char *const word : {"--list", "--list=json", "--cdi", "--cdi=nvidia.com/gpu", "--plan"})
        BOOST_TEST(sort_options({"--allow", "0", word}).only_looks, word);
    for (const Words &words : {Words{"--drain", "0"}, Words{"--request", "--list"}, Words{"--only=--plan"}})
        BOOST_TEST(!sort_options(words).only_looks);
}

BOOST_AUTO_TEST_SUITE_END()
