// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <set>
#include <string>

namespace ogh {

/** Its place below a directory of the driver's application profiles, as NVIDIA's libnvidia-container has it. */
constexpr const char *egl_profile_name = "nvidia-application-profiles-rc.d/10-container.conf";

/**
 * Which GPUs programs with EGL see, by the minor numbers of their nodes; the driver takes the mask in hexadecimal, so
 * that this is not quite JSON. Pure.
 */
std::string egl_profile(const std::set<unsigned> &minors);

} // namespace ogh
