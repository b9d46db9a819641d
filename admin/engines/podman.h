// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engines/engine.h"

namespace ogh::admin {

/** podman as root runs it: containers.conf(5). @return nothing if it is not installed */
std::optional<Engine> find_podman(const std::shared_ptr<const Sysroot> &sysroot);

/** The files of podman's configuration, as root's podman reads them: each over the one before. */
std::vector<std::string> podman_configuration(const Sysroot &sysroot);

} // namespace ogh::admin
