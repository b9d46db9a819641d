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
