// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "request/candidate.h"

namespace ogh {

// A specification of the Container Device Interface by which engines call a hook: its devices are names that may be
// asked for, and what each brings is the call. SPEC.md of tags.cncf.io/container-device-interface.

/** What it is made of. */
struct CdiSpec {
    std::string hook;                 ///< "mount-srv": the kind is io.oci-gpu-hooks/mount-srv
    std::string executable;           ///< of the hook
    std::vector<std::string> options; ///< the host's policy, given to the hook in front of the request
    std::string ldcache_update;       ///< an executable that is called afterwards; "" for none
    std::chrono::seconds timeout{0};  ///< after which the runtime ends a hook
    std::vector<std::string> devices; ///< each is what is asked for, in the grammar of the annotation
};

/** Whether CDI allows that as the name of a device: letters, digits and, within, `_ - . :`. */
bool is_cdi_name(std::string_view name);

/**
 * The specification as JSON, with a newline at its end. Names that CDI does not allow, or that come twice, are left
 * out.
 */
std::string to_json(const CdiSpec &spec);

/**
 * What may be asked of a hook for GPUs, whether this host has it or not, so that the specification stays right where the
 * hardware changes; and the UUIDs that the GPUs of this day have.
 */
std::vector<std::string> gpu_device_names(const std::vector<Candidate> &gpus);

} // namespace ogh
