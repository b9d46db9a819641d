// SPDX-License-Identifier: Apache-2.0
//
// What nearly every test includes, compiled once: the compiler takes longer for it than for most tests.

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

// A case says in words how far it has come, five times, each by a stream of its own. Where it is says as much of one that
// crashes, and costs the compiler less.
#undef BOOST_TEST_CHECKPOINT
#define BOOST_TEST_CHECKPOINT(message) BOOST_TEST_PASSPOINT()
