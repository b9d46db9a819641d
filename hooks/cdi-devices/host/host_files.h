// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cdi-devices/plan/vendor_hooks.h"
#include "cdi/spec.h"
#include "edits/edits.h"
#include "host/sysroot.h"
#include "libraries/directory_libraries.h"
#include "nvidia/driver_params.h"

namespace ogh::cdi_devices {

/** What the host has at a path. */
struct HostFile {
    std::string path; ///< as this process names it; of what is mounted without any symlink
    mode_t mode = 0;  ///< with its type; 0 if there is nothing
    dev_t device = 0; ///< the number of a device node

    bool operator==(const HostFile &) const = default;
};

/** What the host has of what edits name, by their host paths. */
struct HostFiles {
    std::map<std::string, HostFile> nodes;  ///< what itself has the name, be it a symlink
    std::map<std::string, HostFile> mounts; ///< what symlinks lead to
    std::map<std::string, std::vector<FoundFile>> libraries = {}; ///< by VendorActions::library_directories
    std::string driver_version = {}; ///< of NVIDIA's driver, if something is missing and it is loaded
    // With VendorActions::masks_params, where the driver is loaded:
    std::optional<DriverProc> driver_proc = {};
    std::vector<MountEdit> driver_directories = {}; ///< of the host's beside these files
};

/** Whether it is a character or block device. */
bool is_device(const HostFile &file);

/** The path of a node on the host. */
const std::string &host_path_of(const cdi::DeviceNode &node);

/** @throws Error (BrokenHost) */
HostFiles look_at_host(const cdi::ContainerEdits &edits, const VendorActions &actions,
                       const Sysroot &sysroot);

} // namespace ogh::cdi_devices
