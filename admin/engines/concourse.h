// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "engines/engine.h"

namespace ogh::admin {

/**
 * The workers of Concourse that run on this host, each with its folder of hooks, as it sees that: it may have a root
 * of its own. What is wrong with how one was started is in its findings. Whoever is not root of this user namespace is
 * not believed to be one. None on another host (--sysroot).
 */
std::vector<Engine> find_concourse(const std::shared_ptr<const Sysroot> &sysroot);

/** A note for each process that calls itself a worker and is not believed. Nothing is read that it names. */
Findings claimed_workers(const Sysroot &sysroot);

/** Whether Concourse is installed here, where workers mostly have it. */
bool is_concourse_installed(const Sysroot &sysroot);

} // namespace ogh::admin
