// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace ogh::cdi {

// A specification of the Container Device Interface as it is written; SPEC.md of that project has the words.

struct DeviceNode {
    std::string path = {};
    std::string host_path = {}; ///< "": the same as path
    std::string type = {};      ///< "", or one of b, c, u, p
    std::int64_t major = 0;
    std::int64_t minor = 0;
    std::optional<std::uint32_t> file_mode = {};
    std::string permissions = {}; ///< of the device cgroup; "": all
    std::optional<std::uint32_t> uid = {};
    std::optional<std::uint32_t> gid = {};

    bool operator==(const DeviceNode &) const = default;
};

struct Mount {
    std::string host_path;
    std::string container_path;
    std::string type = {};
    std::vector<std::string> options = {};

    bool operator==(const Mount &) const = default;
};

struct SpecHook {
    std::string name; ///< the stage
    std::string path = {};
    std::vector<std::string> args = {};

    bool operator==(const SpecHook &) const = default;
};

struct ContainerEdits {
    std::vector<std::string> env = {}; ///< NAME=VALUE
    std::vector<DeviceNode> nodes = {};
    std::vector<Mount> mounts = {};
    std::vector<SpecHook> hooks = {};
    std::vector<std::uint32_t> groups = {};    ///< additionalGids
    std::vector<std::string> net_devices = {}; ///< their names on the host
    bool intel_rdt = false;

    [[nodiscard]] bool empty() const { return *this == ContainerEdits(); }

    bool operator==(const ContainerEdits &) const = default;
};

struct Device {
    std::string name;
    ContainerEdits edits;

    bool operator==(const Device &) const = default;
};

struct Spec {
    std::string version;
    std::string kind; ///< "vendor.com/class"
    std::vector<Device> devices = {};
    ContainerEdits edits = {}; ///< for whoever has one of the devices

    bool operator==(const Spec &) const = default;
};

} // namespace ogh::cdi
