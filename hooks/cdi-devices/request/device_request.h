// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "oci/config.h"
#include "request/request.h"

namespace ogh::cdi_devices {

/** A device by its qualified name: vendor.com/class=name. */
struct DeviceName {
    std::string kind;
    std::string name;

    [[nodiscard]] std::string full() const { return kind + "=" + name; }
    bool operator==(const DeviceName &) const = default;
    bool operator<(const DeviceName &other) const
    {
        return std::tie(kind, name) < std::tie(other.kind, other.name);
    }
};

/** Which devices a container asks for, each once, in their order. */
struct DeviceRequest {
    std::vector<DeviceName> devices;
    std::vector<std::string>
        kinds; ///< those that were asked for without a name: an error that lists their devices

    bool operator==(const DeviceRequest &) const = default;
};

/**
 * Understands `none`, or qualified names, separated by commas; blanks around them are allowed.
 * @throws Error (Usage) for what is no such name
 */
DeviceRequest parse_device_request(const RequestValue &asked);

bool asks_for(const DeviceRequest &request, std::string_view kind, std::string_view name);

/**
 * What the annotations ask for that engines with a CDI of their own read: `cdi.k8s.io/KEY`, whose values are qualified
 * names, separated by commas, with no blanks (the reference implementation, pkg/cdi/annotations.go). Pure.
 * @throws Error (Usage) if one of the names is none: then none counts
 */
DeviceRequest parse_engine_annotations(const Config &config);

} // namespace ogh::cdi_devices
