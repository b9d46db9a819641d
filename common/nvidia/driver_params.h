// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "edits/edits.h"
#include "host/sysroot.h"

namespace ogh {

constexpr const char *driver_proc_directory = "/proc/driver/nvidia";

/** What NVIDIA's driver says of itself there, file by file, as it is; nothing of what is absent. */
struct DriverProc {
    std::optional<std::string> version; ///< absent if the driver is not loaded
    std::optional<std::string> params;
    std::optional<std::string> registry;
};

/** @throws Error (BrokenHost) if what is there cannot be read */
DriverProc read_driver_proc(const Sysroot &sysroot);

/** The directory as a container sees it, whose params say that no program is to make device nodes. Pure. */
TmpfsEdit plan_driver_proc(const DriverProc &proc);

/** Its place below a directory of the driver's application profiles, as NVIDIA's libnvidia-container has it. */
constexpr const char *egl_profile_name = "nvidia-application-profiles-rc.d/10-container.conf";

/**
 * Which GPUs programs with EGL see, by the minor numbers of their nodes; the driver takes the mask in hexadecimal, so
 * that this is not quite JSON. Pure.
 */
std::string egl_profile(const std::set<unsigned> &minors);

/**
 * Its params as a container must see them: ModifyDeviceFiles is 0, or the driver's libraries and
 * nvidia-modprobe would make the nodes of every GPU. Every other line stays as it is. Where the key is missing it goes
 * first, since nvidia-modprobe reads no further than the first value that is no number.
 */
std::string params_for_container(std::string_view text);

/** A number of /proc/driver/nvidia/params; nothing if the driver does not have it. Of equal names the first counts. */
std::optional<std::uint64_t> driver_param(std::string_view text, std::string_view name);

} // namespace ogh
