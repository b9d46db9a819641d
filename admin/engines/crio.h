// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>

#include "engines/engine.h"

namespace ogh::admin {

/** CRI-O: crio.conf(5). @return nothing if it is not installed */
std::optional<Engine> find_crio(const std::shared_ptr<const Sysroot> &sysroot);

} // namespace ogh::admin
