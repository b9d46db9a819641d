// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/log.h"
#include "cdi-devices/host/host_files.h"
#include "cdi-devices/image.h"
#include "cdi-devices/plan/mount_plan.h"
#include "cdi-devices/spec/spec.h"
#include "edits/edits.h"

namespace ogh::cdi_devices {

/** What a plan depends on besides the specifications and the host. */
struct PlanContext {
    Writable writable = Writable::Stated;
    bool require_env = false;                  ///< refuse, where variables are missing
    NodeOwner user = {};                       ///< of the container's first program
    std::vector<std::string> environment = {}; ///< the container's, NAME=VALUE
};

/**
 * What is done to a container that gets these edits. Pure.
 * @param edits as combine() gives them
 * @param actions of their hooks
 * @param files what the host has of them
 * @param notes what of them a hook cannot do
 * @throws Error: BrokenHost if the host has not what they name, or they contradict it; Denied for what this hook does not do
 */
Edits plan(const ContainerEdits &edits, const VendorActions &actions, const HostFiles &files,
           const PlanContext &context, Notes &notes);

/**
 * Adds what depends on the image to a plan: files of its loaders, and the profile for EGL. Pure.
 * @param files what the host has of the edits
 * @param notes what is left out
 */
void add_image_edits(const VendorActions &actions, const HostFiles &files, Image image, bool read_only,
                     Edits &planned, Notes &notes);

} // namespace ogh::cdi_devices
