// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "base/log.h"
#include "request/availability.h"

namespace ogh {

// A specification of the Container Device Interface by which engines call a hook: its devices are names that may be
// asked for, and what each brings is the call. SPEC.md of tags.cncf.io/container-device-interface.

/** A name, and what it stands for in the grammar of the annotation. */
struct CdiDevice {
    std::string name;
    std::string request;

    bool operator==(const CdiDevice &) const = default;
};

/** What it is made of. */
struct CdiSpec {
    std::string hook;                      ///< "mount-srv"
    std::string kind = {};                 ///< "" is io.oci-gpu-hooks/HOOK
    std::string executable = {};           ///< of the hook
    std::vector<std::string> options = {}; ///< the host's policy, given to the hook in front of the request
    std::string ldcache_update = {};       ///< an executable that is called afterwards; "" for none
    std::chrono::seconds timeout{0};       ///< after which the runtime ends a hook
    std::vector<CdiDevice> devices = {};
};

/** Whether CDI allows that as the name of a device: letters, digits and, within, `_ - . :`. */
bool is_cdi_name(std::string_view name);

/**
 * The specification as JSON, with a newline at its end. A name that comes twice is there once.
 * @param notes a warning for each name that is left out since CDI does not allow it
 */
std::string to_json(const CdiSpec &spec, Notes &notes);

/**
 * What an annotation may ask of a hook for GPUs: indices and numbers of any, whether this host has so many or not, so that
 * the specification stays right where the hardware changes; and all names that the GPUs of this day have, and their
 * groups, as far as CDI allows them. "gpu0" is what LXD calls "0".
 */
std::vector<CdiDevice> gpu_devices(const std::vector<Candidate> &gpus);

/** Names that are what they stand for. */
std::vector<CdiDevice> devices_named(const std::vector<std::string> &names);

} // namespace ogh
