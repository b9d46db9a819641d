// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "cdi/spec.h"
#include "cdi/spec_directories.h"
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

/** What they are called in messages. */
constexpr const char *engine_origin = "annotations 'cdi.k8s.io/...'";

/**
 * What the annotations ask for that engines with a CDI of their own read: `cdi.k8s.io/KEY`, whose values are qualified
 * names, separated by commas, with no blanks (the reference implementation, pkg/cdi/annotations.go). Pure.
 * @throws Error (Usage) if one of the names is none, or they are too long together: then none counts
 */
DeviceRequest parse_engine_annotations(const Config &config);

/** Where a device is described. */
struct FoundDevice {
    const cdi::SpecFile *file = nullptr;
    const cdi::Device *device = nullptr;
};

/** All devices that the specifications of a host describe, by their names. */
class DeviceIndex final {
public:
    /** @param files outlive this */
    explicit DeviceIndex(const std::vector<cdi::SpecFile> &files);

    /** @return nothing if there is none, or two files of one directory have it */
    [[nodiscard]] std::optional<FoundDevice> find(const DeviceName &name) const;

    /** What two files of one directory both have: nobody can have such a device. */
    [[nodiscard]] const std::map<DeviceName, std::string> &conflicts() const { return conflicts_; }

    [[nodiscard]] const std::map<DeviceName, FoundDevice> &devices() const { return devices_; }

private:
    std::map<DeviceName, FoundDevice> devices_;
    std::map<DeviceName, std::string> conflicts_; ///< which files
};

/** The host's side: which devices may be handed out, and how many to one container. */
class Policy final {
public:
    /** @param list of KIND and KIND=NAME; nothing: all. @throws Error (Usage) */
    void allow(const std::optional<std::string> &list);
    /** @param whose "the host's policy", for a message */
    void at_most(std::optional<unsigned> devices, const char *whose = "the host's policy");

    [[nodiscard]] bool allows(const DeviceName &name) const;
    [[nodiscard]] std::optional<unsigned> most() const { return most_; }

    /** @throws Error (Policy) if these are more than one container may have */
    void check_count(size_t devices) const;

private:
    std::vector<std::set<std::string>> allowed_; ///< a device has to be in each
    std::optional<unsigned> most_;
    const char *whose_most_ = "";
};

/**
 * The devices that the container gets. Pure.
 * @throws Error: NotAvailable that names all that this host does not have, with what it has; Policy; Usage for a kind
 *         without a name, which lists its devices
 */
std::vector<FoundDevice> choose(const DeviceRequest &request, const DeviceIndex &index, const Policy &policy);

/**
 * The edits of all devices in one, those of a file before those of its first device. Of nodes and of mounts with the same
 * path in the container the last remains; mounts are in the order of how deep they lie, so that none hides another. Pure.
 */
cdi::ContainerEdits combine(const std::vector<FoundDevice> &devices);

} // namespace ogh::cdi_devices
