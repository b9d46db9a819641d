// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/log.h"
#include "cdi-devices/host/device_keys.h"
#include "cdi-devices/host/host_files.h"
#include "cdi-devices/image.h"
#include "cdi-devices/request/device_choice.h"
#include "cdi/spec.h"
#include "edits/edits.h"
#include "libraries/directory_libraries.h"

namespace ogh::cdi_devices {

/**
 * All nodes that edits bring: their own, and those that they mount. Pure.
 * @param host what has been looked at; what was not is left out, such as a node whose place another device's takes
 * @throws Error as plan_node()
 */
std::vector<NodeEdit> plan_nodes(const cdi::ContainerEdits &edits, const HostFiles &host,
                                 const NodeOwner &user);

/** The same of one device and of its file. */
DeviceNodes nodes_of(const FoundDevice &found, const HostFiles &host);

/** What of a specification's mounts is writable. */
enum class Writable {
    Stated, ///< what it says "rw" of
    Spec,   ///< what it does not say "ro" of, as engines have it
    Never,
};

/** All that was read for one container: what a plan is made of. */
struct PlanInputs {
    cdi::ContainerEdits edits = {}; ///< as combine() gives them
    VendorActions actions = {};     ///< of their hooks
    HostFiles files = {};           ///< what the host has of them
    Image image = {};               ///< as far as it matters: needs_image()
    Writable writable = Writable::Stated;
    bool require_env = false;                  ///< refuse, where variables are missing
    NodeOwner user = {};                       ///< of the container's first program
    std::vector<std::string> environment = {}; ///< the container's, NAME=VALUE
    bool is_read_only = false;                 ///< the container's root
};

/**
 * What is done to a container that gets these edits. Pure.
 * @param notes what of them a hook cannot do, and what is left out
 * @throws Error: BrokenHost if the host has not what they name, or they contradict it; Denied for what this hook does not do
 */
Edits plan(const PlanInputs &inputs, Notes &notes);

/**
 * The profile that limits EGL to the GPUs whose nodes are given.
 * @param earlier the minor numbers of those that the container has by an earlier request
 * @param file what the container has in its place
 * @return nothing if it is right, or cannot be written, which a note says: the container does without
 */
std::optional<FileEdit> plan_egl_profile(const std::vector<NodeEdit> &nodes,
                                         const std::set<unsigned> &earlier, const LoaderFile &file,
                                         Notes &notes);

/** Libraries that are put into directories of the container, by the directory. */
using DirectoryFiles = std::map<std::string, std::vector<FoundFile>>;

/**
 * The entries of the loader's cache for what mounts and links put into the directories. Pure.
 * @param directories in the order of the request
 * @param files of the mounts
 * @param links those that lead to one of the files, in its directory, count as well
 * @param preferred entries that win over others of the same name: the image's own
 * @param notes gets a warning if there are libraries of a machine that is not known here
 */
std::vector<AddedLibrary> added_libraries(const std::vector<std::string> &directories,
                                          const DirectoryFiles &files, const std::vector<LinkEdit> &links,
                                          const std::vector<AddedLibrary> &preferred, Notes &notes);

} // namespace ogh::cdi_devices
