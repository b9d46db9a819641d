// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "oci/config.h"
#include "request/device_plugin.h"

namespace ogh {

/**
 * For a container to which no source that the host believes gives anything. What a device plugin leaves on one is told from
 * what its image says, but not from what its pod does: whole UUIDs in the variable, a mount in the plugin's directory, a device
 * of the vendor's kinds in an annotation. A container that counts a GPU is not to start without one, and without a word.
 *
 * Not so where the vendor's own tools serve it, and where it has the nodes of such devices already, as by CDI or with what
 * kubelet calls device specs; a privileged container has those of all.
 * @throws Error (Usage) with what was found, and what it takes to be believed
 */
void refuse_unbelieved_marks(const Config &config, const DevicePlugin &plugin);

} // namespace ogh
