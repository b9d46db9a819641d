// SPDX-License-Identifier: Apache-2.0
//
// What nearly every module includes of the standard library, compiled once.

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <variant>
#include <vector>
