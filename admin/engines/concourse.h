// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "engines/engine.h"

namespace ogh::admin {

/**
 * The workers of Concourse that run on this host, each with its folder of hooks, as it sees that: it may have a root
 * of its own. What is wrong with how one was started is in its findings.
 */
std::vector<Engine> find_concourse(const std::shared_ptr<const Sysroot> &sysroot);

/** Whether Concourse is installed here, where workers mostly have it. */
bool is_concourse_installed(const Sysroot &sysroot);

} // namespace ogh::admin
