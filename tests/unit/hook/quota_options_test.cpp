// SPDX-License-Identifier: Apache-2.0
#include <boost/test/unit_test.hpp>

#include "hook/lease_options.h"
#include "support/expect.h"
#include "support/lease_words.h"

BOOST_AUTO_TEST_SUITE(quota_options)

using namespace ogh;
using namespace ogh::test;

namespace {

constexpr const char *containerds = "io.kubernetes.cri.sandbox-namespace";
constexpr const char *crios = "io.kubernetes.pod.namespace";

LeaseOptions of_policy(const std::string &quota)
{
    return lease_options_of({"--quota", quota});
}

Quotas quotas_of(const std::optional<Config> &config, const Request &request, const LeaseOptions &options)
{
    return lease_request(config, request, options).demand.quotas;
}

std::optional<Config> with(std::map<std::string, std::string, std::less<>> annotations)
{
    Config config;
    for (auto &[key, value] : annotations)
        config.annotations[key] = value;
    return config;
}

} // namespace

BOOST_AUTO_TEST_CASE(each_kind_of_quota_has_names_of_its_own)
{
    Request request;
    request.key = "ci";
    request.limits.quota = 1;
    const LeaseOptions options =
        lease_options_of({"--quota=ci=3", "--quota", "a=b=2", "--quota", std::string(crios) + "=4"});
    const Quotas quotas = quotas_of(with({{crios, "ci"}}), request, options);
    const Quotas expected = {
        {"io.kubernetes.pod.namespace=ci", 4}, {"key:ci", 1}, {"policy:a=b", 2}, {"policy:ci", 3}};
    BOOST_TEST((quotas == expected));
    BOOST_TEST(quotas_of(with({}), {}, {}).empty());
    BOOST_TEST(quotas_of({}, {}, of_policy(std::string(crios) + "=4")).empty());
}

BOOST_AUTO_TEST_CASE(what_is_no_quota_is_refused_at_once)
{
    for (const char *text : {"ci", "ci=", "=1", "ci=0", "ci=-1", "ci=1x", "ci=1048577", "", "="})
        BOOST_TEST((failure_of([&] { of_policy(text); }).kind == ErrorKind::Usage), text);
    BOOST_TEST((failure_of([] {
                    lease_options_of({"--quota", "ci=1", "--quota", "ci=2"});
                }).kind == ErrorKind::Usage));
    BOOST_TEST(
        (failure_of([] {
             lease_options_of({"--quota", std::string(crios) + "=1", "--quota", std::string(crios) + "=2"});
         }).kind == ErrorKind::Usage));
    for (const char *number : {"0", "65"})
        BOOST_TEST((failure_of([&] {
                        lease_options_of({"--max-sharers", number});
                    }).kind == ErrorKind::Usage),
                   number);
    lease_options_of({"--quota", "ci=1048576", "--max-sharers", "64"});
    const auto failure = failure_of([] { quotas_of({}, {}, of_policy(std::string(249, 'x') + "=1")); });
    BOOST_TEST((failure.kind == ErrorKind::Usage));
    BOOST_TEST(failure.says("a name of more than 255 bytes"), failure.message);
}

BOOST_AUTO_TEST_CASE(who_chooses_the_value_chooses_no_limit)
{
    for (const char *name :
         {"example.org/user", "io.kubernetes.pod.name", "io.kubernetes.container.name", "."}) {
        const auto failure = failure_of([&] { of_policy(std::string(name) + "=1"); });
        BOOST_TEST((failure.kind == ErrorKind::Usage), name);
        BOOST_TEST(failure.says("would choose no limit"), failure.message);
    }
    const LeaseOptions options = of_policy(std::string(crios) + "=1");
    of_policy(std::string(containerds) + "=1");
    const auto refused = [&](const std::optional<Config> &config, const char *words) {
        const auto failure = failure_of([&] { quotas_of(config, {}, options); });
        BOOST_TEST((failure.kind == ErrorKind::Denied));
        BOOST_TEST(failure.says(words), failure.message);
    };
    refused(with({}), "has none");
    refused(with({{crios, ""}}), "has none");
    refused(with({{crios, "ml"}, {"io.container.manager", "libpod"}}), "podman made the container");
    refused(with({{crios, "mine"}, {containerds, "ml"}}), "one of them is the user's");
    BOOST_TEST(quotas_of(with({{crios, "ml"}}), {}, options).front().name == std::string(crios) + "=ml");
}

BOOST_AUTO_TEST_SUITE_END()
