// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "oci/config.h"

namespace ogh {

/**
 * The signal that asks the container's first program to end: what its image says, where the engine writes that into
 * `org.opencontainers.image.stopSignal` (a number or a name, OCI image specification, "Conversion to OCI Runtime
 * Configuration"). SIGTERM where it does not, and for what is no signal of Linux.
 */
int stop_signal(const Config &config);

} // namespace ogh
