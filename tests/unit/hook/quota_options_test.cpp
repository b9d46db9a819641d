// SPDX-License-Identifier: Apache-2.0
#include <boost/test/unit_test.hpp>

#include "hook/quota_options.h"
#include "support/expect.h"

BOOST_AUTO_TEST_SUITE(quota_options)

using namespace ogh;
using namespace ogh::test;

namespace {

constexpr const char *containerds = "io.kubernetes.cri.sandbox-namespace";
constexpr const char *crios = "io.kubernetes.pod.namespace";

QuotaOptions of_policy(std::vector<std::string> quotas)
{
    return {std::move(quotas), {}, {}};
}

QuotaOptions by(const std::string &quota)
{
    return {{}, {quota}, {}};
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
    KeyLimits limits;
    limits.quota = {"ci", 1};
    QuotaOptions options = of_policy({"ci=3", "a=b=2"});
    options.quotas_by = {std::string(crios) + "=4"};
    check(options);
    const Quotas quotas = quotas_of(with({{crios, "ci"}}), limits, options);
    const Quotas expected = {
        {"io.kubernetes.pod.namespace=ci", 4}, {"key:ci", 1}, {"policy:a=b", 2}, {"policy:ci", 3}};
    BOOST_TEST((quotas == expected));
    BOOST_TEST(quotas_of(with({}), {}, {}).empty());
    BOOST_TEST(quotas_of({}, {}, by(std::string(crios) + "=4")).empty());
}

BOOST_AUTO_TEST_CASE(what_is_no_quota_is_refused_at_once)
{
    for (const char *text : {"ci", "ci=", "=1", "ci=0", "ci=-1", "ci=1x", "ci=1048577", "", "="})
        BOOST_TEST((failure_of([&] { check(of_policy({text})); }).kind == ErrorKind::Usage), text);
    BOOST_TEST((failure_of([] { check(of_policy({"ci=1", "ci=2"})); }).kind == ErrorKind::Usage));
    for (const unsigned number : {0U, 65U}) {
        BOOST_TEST((failure_of([&] {
                        check(QuotaOptions{{}, {}, number});
                    }).kind == ErrorKind::Usage),
                   number);
    }
    check(QuotaOptions{{"ci=1048576"}, {}, 64});
    const auto failure = failure_of([] { quotas_of({}, {}, of_policy({std::string(249, 'x') + "=1"})); });
    BOOST_TEST((failure.kind == ErrorKind::Usage));
    BOOST_TEST(failure.says("a name of more than 255 bytes"), failure.message);
}

BOOST_AUTO_TEST_CASE(who_chooses_the_value_chooses_no_limit)
{
    for (const char *name : {"user", "io.kubernetes.pod.name", "io.kubernetes.container.name", "team"}) {
        const auto failure = failure_of([&] { check(by(std::string(name) + "=1")); });
        BOOST_TEST((failure.kind == ErrorKind::Usage), name);
        BOOST_TEST(failure.says("would choose no limit"), failure.message);
    }
    const QuotaOptions options = by(std::string(crios) + "=1");
    check(options);
    check(by(std::string(containerds) + "=1"));
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
