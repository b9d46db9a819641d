// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cdi-devices/request/device_request.h"
#include "oci/config.h"

namespace ogh::cdi_devices {

/**
 * What the annotations ask for that engines with a CDI of their own read: `cdi.k8s.io/KEY`, whose values are qualified
 * names, separated by commas, with no blanks (the reference implementation, pkg/cdi/annotations.go). Pure.
 * @throws Error (Usage) if one of the names is none: then none counts
 */
DeviceRequest parse_engine_annotations(const Config &config);

} // namespace ogh::cdi_devices
