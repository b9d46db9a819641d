// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "oci/config.h"
#include "request/device_plugin.h"

namespace ogh::nvidia_devices {

/**
 * How NVIDIA's device plugin for Kubernetes names GPUs, by its `deviceListStrategy`. Its own kind of CDI is that of the
 * specification which it writes itself, and its own prefix of annotations what NVIDIA's operator sets, so that engines
 * leave them to others.
 */
PluginNames nvidia_plugin_names();

/** Whether NVIDIA's tools have put a hook of theirs into config.json: its runtime wrapper, or an engine by CDI. */
bool has_vendor_hook(const Config &config);

} // namespace ogh::nvidia_devices
