// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "request/device_plugin.h"
#include "request/key_file.h"

namespace ogh {

/** Who may ask for something for a container. */
enum class OptIn {
    Annotation,  ///< whoever sets its annotations
    Environment, ///< also whoever sets its environment: the image, a task file
    Always,      ///< the host, for every container
};

/** The host's side of a request. */
struct OptInOptions {
    OptIn opt_in = OptIn::Annotation;
    std::optional<std::string> request;
    std::optional<std::string> key_file; ///< absolute; with OptIn::Environment
    std::optional<KeyFile> keys;         ///< what is in it, once it is needed
    std::vector<std::string> only;       ///< KEY=PATTERN each
    DevicePlugin plugin;                 ///< of hooks for GPUs
    std::vector<std::string> observers;  ///< of hooks for GPUs; as check_observers() accepts them
    std::vector<std::string> words;      ///< of the command line, behind the hook's name
    bool has_limit = false;              ///< one of them is a limit: FileOptions::has_limit
    bool needs_no_limit = false;         ///< in a pod either: the hook gives nothing of the host's
};

} // namespace ogh
