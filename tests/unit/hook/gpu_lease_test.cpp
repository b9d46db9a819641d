// SPDX-License-Identifier: Apache-2.0
#include <boost/test/unit_test.hpp>

#include "hook/gpu_lease.h"
#include "hook/lease_options.h"
#include "support/expect.h"
#include "support/lease_words.h"

BOOST_AUTO_TEST_SUITE(gpu_lease)

using namespace ogh;
using namespace ogh::test;
using std::chrono::seconds;

namespace {

struct Terms {
    LeaseMode mode;
    seconds wait;
    bool is_explicit;

    bool operator==(const Terms &) const = default;
};

/** Of a container that asks so; "": it does not say. */
Terms terms(const char *lease, const char *wait, const std::vector<std::string> &words)
{
    Request request;
    if (*lease != 0)
        request.details.emplace("lease", RequestValue{lease, "annotation 'k'"});
    if (*wait != 0)
        request.details.emplace("wait", RequestValue{wait, "annotation 'k'"});
    const LeaseRequest asked = lease_request({}, request, lease_options_of(words));
    return {asked.demand.mode, std::chrono::duration_cast<seconds>(asked.wait), asked.is_explicit};
}

/** Three GPUs, and a fault of the last. */
std::vector<Candidate> three()
{
    std::vector<Candidate> list(3);
    for (unsigned i = 0; i < 3; ++i) {
        list[i].index = i;
        list[i].lease_key = "nvidia:" + std::to_string(i);
        list[i].description = "GPU-" + std::to_string(i);
    }
    list[2].problem = "it does not answer";
    return list;
}

} // namespace

BOOST_AUTO_TEST_CASE(shared_and_at_once_is_what_nobody_has_to_ask_for)
{
    BOOST_TEST((terms("", "", {}) == Terms{LeaseMode::Shared, seconds(0), false}));
    BOOST_TEST((terms(" exclusive ", "", {}) == Terms{LeaseMode::Exclusive, seconds(0), true}));
    BOOST_TEST((terms("shared", " 2m", {"--max-wait=5m"}) == Terms{LeaseMode::Shared, seconds(120), true}));
}

BOOST_AUTO_TEST_CASE(the_host_may_demand_more_than_is_asked_for)
{
    const Terms exclusive{LeaseMode::Exclusive, seconds(0), true};
    BOOST_TEST((terms("", "", {"--min-lease=exclusive"}) == exclusive));
    BOOST_TEST((terms("shared", "", {"--min-lease=exclusive"}) == exclusive));
}

BOOST_AUTO_TEST_CASE(what_cannot_be_understood)
{
    for (const char *value : {"none", "Exclusive", "exclusive,shared", "1"}) {
        const auto failure = failure_of([&] { terms(value, "", {}); });
        BOOST_TEST((failure.kind == ErrorKind::Usage), value);
        BOOST_TEST(failure.says("annotation 'k'"), failure.message);
    }
    BOOST_TEST((failure_of([] { terms("", "soon", {"--max-wait=5m"}); }).kind == ErrorKind::Usage));
    BOOST_TEST(!lease_options_of({"--idle-after=never"}).preemption.is_allowed);
    BOOST_TEST(lease_options_of({}).preemption.is_allowed);
    const std::vector<std::vector<std::string>> wrong = {{"--drain=0", "--undrain=0"},
                                                         {"--idle-after=10"},
                                                         {"--begin-within=never"}, // the one word is for both
                                                         {"--max-hold=never"},
                                                         {"--drain=0", "--for=0s"},
                                                         {"--for=1s"},
                                                         {"--drain=0=" + std::string(201, 'x')},
                                                         {"--max-wait=-1s"}};
    for (const auto &words : wrong)
        BOOST_TEST((failure_of([&] { lease_options_of(words); }).kind == ErrorKind::Usage), words.front());
    BOOST_TEST(failure_of([] { lease_options_of({"--max-wait=1"}); }).message ==
               "the option '--max-wait' is '1', which is no duration such as '90s', '5m' or '2h'");
}

BOOST_AUTO_TEST_CASE(a_wait_is_as_long_as_the_host_allows)
{
    const auto failure = failure_of([] { terms("", "5m", {"--max-wait=90s"}); });
    BOOST_TEST((failure.kind == ErrorKind::Denied));
    BOOST_TEST(failure.message ==
               "the annotation 'k' asks to wait for 5m, and this host (--max-wait) allows 90s");
    BOOST_TEST((failure_of([] { terms("", "1s", {}); }).kind == ErrorKind::Denied));
}

BOOST_AUTO_TEST_CASE(the_runtime_has_to_wait_five_seconds_longer_for_this_executable)
{
    const auto refused = [](const std::string &path, std::optional<std::uint64_t> timeout) {
        return !failure_of([&] {
                    check_timeout({{"/no such file", 1}, {path, timeout}}, seconds(60));
                }).message.empty();
    };
    BOOST_TEST(refused("/proc/self/exe", 64));
    BOOST_TEST(!refused("/proc/self/exe", 65));
    BOOST_TEST(!refused("/proc/self/exe", std::nullopt));
    BOOST_TEST(!refused("/bin/sh", 1));
}

BOOST_AUTO_TEST_CASE(devices_are_found_again_in_a_list_that_was_read_anew)
{
    BOOST_TEST((indices_of({"nvidia:1", "nvidia:0"}, three()) == std::vector<size_t>{0, 1}));
    BOOST_TEST((failure_of([] { indices_of({"nvidia:7"}, three()); }).kind == ErrorKind::NotAvailable));
    const auto failure = failure_of([] { indices_of({"nvidia:2"}, three()); });
    BOOST_TEST((failure.kind == ErrorKind::BrokenHost));
    BOOST_TEST(failure.message == "the GPU 2 (GPU-2) cannot be given: it does not answer");
}

BOOST_AUTO_TEST_SUITE_END()
