// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <set>
#include <string_view>
#include <vector>

#include "base/log.h"
#include "cdi-devices/host/host_files.h"
#include "cdi-devices/plan/vendor_hooks.h"
#include "edits/edits.h"
#include "libraries/loader_file.h"

namespace ogh::cdi_devices {

// What NVIDIA's hooks do besides links and libraries. All of it is pure.

/** A /proc/driver/nvidia in which the driver's params say that no program is to make device nodes. */
TmpfsEdit plan_driver_proc(const DriverProc &proc);

/** Where the driver's libraries look for which GPUs EGL may show. */
constexpr const char *egl_profile_path = "/etc/nvidia/nvidia-application-profiles-rc.d/10-container.conf";

/** Whether a node of /dev is a GPU's, by its name: "nvidia0", and not "nvidiactl". */
bool is_gpu_node(std::string_view name);

/**
 * The profile that limits EGL to the GPUs whose nodes are given.
 * @param earlier the minor numbers of those that the container has by an earlier request
 * @param file what the container has in its place
 * @return nothing if it is right, or cannot be written, which a note says: the container does without
 */
std::optional<FileEdit> plan_egl_profile(const std::vector<NodeEdit> &nodes,
                                         const std::set<unsigned> &earlier, const LoaderFile &file,
                                         Notes &notes);

/**
 * Gives nodes the permissions that `chmod` is asked for. A directory of nodes is made for everybody, which is all that
 * specifications ask for it.
 * @throws Error (Denied) for any other path
 */
void change_modes(const std::vector<ModeChange> &changes, std::vector<NodeEdit> &nodes);

} // namespace ogh::cdi_devices
