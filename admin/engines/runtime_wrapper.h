// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "host/sysroot.h"
#include "report/finding.h"

namespace ogh::admin {

/** Whether something else than a program stands where an engine looks for its runtime: a script, a symlink. */
std::optional<Finding> check_runtime_program(const Sysroot &sysroot, const std::string &path);

} // namespace ogh::admin
