// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace ogh::cdi {

// The names that SPEC.md of the Container Device Interface allows. Each says why a name is none, or "".

std::string device_problem(std::string_view name);

/** "vendor.com/class" */
std::string kind_problem(std::string_view kind);

/** "vendor.com/class=name", taken apart and not checked; nothing of what is absent. */
struct QualifiedName {
    std::string kind;
    std::string device;
    bool has_device = false; ///< it has a `=`
};

QualifiedName split_name(std::string_view name);

/** Of both parts, as far as they are there. */
std::string name_problem(const QualifiedName &name);

} // namespace ogh::cdi
