// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engines/engine.h"
#include "host/sysroot.h"
#include "report/report.h"

namespace ogh::admin {

/**
 * The engines that give what CDI specifications name and read no files of hooks, docker and containerd, as far as they are
 * installed; and the specifications: those that give GPUs past the hooks, and those that call them.
 */
std::vector<Section> check_cdi(const std::shared_ptr<const Sysroot> &sysroot,
                               const std::vector<Engine> &engines);

/** Specifications in the directories that engines read, of which a device calls a hook of this collection. @throws Error */
std::vector<std::string> specs_that_call_hooks(const Sysroot &sysroot);

} // namespace ogh::admin
