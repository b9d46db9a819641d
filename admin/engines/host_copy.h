// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "engines/engine.h"
#include "registration/hook_file.h"

namespace ogh::admin {

/** What this host has of a hook that an engine calls in a root of its own. */
struct HostCopy {
    std::string executable; ///< below the host's root
    bool is_same;           ///< byte for byte
};

/** @return nothing if the engine has none, or the host does not. @throws SystemError */
std::optional<HostCopy> find_host_copy(const Engine &engine, const HookFile &file);

} // namespace ogh::admin
