// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "request/key_file.h"

namespace ogh {

/** Where kubelet has put what a device plugin gave a container; the stronger ones first. */
enum class PluginSource {
    Nodes,          ///< that the engine makes
    Mounts,         ///< of /dev/null, on names in a folder of the vendor's
    CdiAnnotations, ///< `cdi.k8s.io/…`
    Environment,    ///< the variable that the vendor's own tools read
};

/** What somebody asks of one hook for a container, in the hook's own grammar. */
struct RequestValue {
    std::string value;    ///< never empty
    std::string origin;   ///< who asks, for messages: "annotation 'io.oci-gpu-hooks.mount-srv'"
    bool for_all = false; ///< the host asks it for every container (--opt-in always), and not for this one
    bool is_annotation = false;              ///< of this collection, whoever has set it
    bool implied = false;                    ///< another hook was asked, and this one goes along with it
    KeyLimits limits = {};                   ///< of the key that it was asked with
    std::optional<PluginSource> plugin = {}; ///< a device plugin has chosen, and this says so
};

/** The longest value that is looked at, in bytes. */
constexpr std::size_t max_request_size = 65536;

} // namespace ogh
