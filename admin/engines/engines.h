// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "engines/engine.h"

namespace ogh::admin {

/** The engines of this host that read files of hooks, each with what it reads. */
std::vector<Engine> find_engines(const std::shared_ptr<const Sysroot> &sysroot);

} // namespace ogh::admin
