// SPDX-License-Identifier: Apache-2.0
#include <csignal>
#include <utility>

#include <boost/test/unit_test.hpp>

#include "oci/stop_signal.h"

BOOST_AUTO_TEST_SUITE(stop_signal)

BOOST_AUTO_TEST_CASE(it_is_a_number_or_a_name_and_else_sigterm)
{
    const std::pair<const char *, int> cases[] = {
        {"3", SIGQUIT},
        {"64", 64},
        {"SIGINT", SIGINT},
        {"INT", SIGINT},
        {"SIGRTMIN+3", 37},
        {"RTMIN", 34},
        {"SIGRTMAX-14", 50},
        {"RTMAX", 64},
        {"SIGRTMIN+31", SIGTERM},
        {"0", SIGTERM},
        {"65", SIGTERM},
        {"-9", SIGTERM},
        {"", SIGTERM},
        {"SIG", SIGTERM},
        {"RTMIN-1", SIGTERM},
        {"RTMIN+", SIGTERM},
        {"bad name", SIGTERM},
    };
    for (const auto &[text, signal] : cases) {
        ogh::Config config;
        config.annotations["org.opencontainers.image.stopSignal"] = text;
        BOOST_TEST(ogh::stop_signal(config) == signal, text);
    }
    BOOST_TEST(ogh::stop_signal({}) == SIGTERM);
}

BOOST_AUTO_TEST_SUITE_END()
