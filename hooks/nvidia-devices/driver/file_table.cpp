// SPDX-License-Identifier: Apache-2.0
#include "nvidia-devices/driver/file_table.h"

#include <array>

namespace ogh::nvidia_devices {

namespace {

constexpr CapabilityBits with_utility{Capability::Utility};
constexpr CapabilityBits for_programs_of_compute{Capability::Compute};
constexpr CapabilityBits for_display{Capability::Display};

/** libnvidia-container's (src/nvc_info.c), and those that only nvidia-container-toolkit's CDI generator brings. */
constexpr std::array<ProgramName, 9> programs{{
    {"nvidia-smi", with_utility},
    {"nvidia-debugdump", with_utility},
    {"nvidia-persistenced", with_utility},
    {"nv-fabricmanager", with_utility},
    {"nvidia-imex", with_utility},     // CDI
    {"nvidia-imex-ctl", with_utility}, // CDI
    {"nvidia-cuda-mps-control", for_programs_of_compute},
    {"nvidia-cuda-mps-server", for_programs_of_compute},
    {"nvidia-xconfig", for_display}, // CDI
}};

constexpr std::array<const char *, 9> program_places{
    "/usr/bin",
    "/usr/sbin",
    "/usr/local/bin",
    "/usr/local/sbin",
    "/bin", // the folder of a driver alone, as on GKE
    "/sbin",
    "/opt/bin",
    "/run/current-system/sw/bin",    // NixOS
    "/usr/libexec/nvidia/tesla/bin", // Bottlerocket
};

/**
 * What the CDI generator brings. Vulkan's loader knows a driver by any file in its folder, and packages for RPM have
 * the machine in its name, so that those for 64 and for 32 bits can be installed side by side.
 */
constexpr std::array<ConfigName, 13> configs{{
    {"OpenCL/vendors/nvidia.icd", "/etc", for_compute},
    {"vulkan/icd.d/nvidia_icd.json", "/etc", for_graphics},
    {"vulkan/icd.d/nvidia_icd.x86_64.json", "/etc", for_graphics},
    {"vulkan/icd.d/nvidia_icd.aarch64.json", "/etc", for_graphics},
    {"vulkan/icd.d/nvidia_layers.json", "/etc", for_graphics},
    {"vulkan/implicit_layer.d/nvidia_layers.json", "/etc", for_graphics},
    {"glvnd/egl_vendor.d/10_nvidia.json", "/usr/share", for_graphics},
    {"egl/egl_external_platform.d/09_nvidia_wayland2.json", "/usr/share", for_graphics},
    {"egl/egl_external_platform.d/10_nvidia_wayland.json", "/usr/share", for_graphics},
    {"egl/egl_external_platform.d/15_nvidia_gbm.json", "/usr/share", for_graphics},
    {"egl/egl_external_platform.d/20_nvidia_xcb.json", "/usr/share", for_graphics},
    {"egl/egl_external_platform.d/20_nvidia_xlib.json", "/usr/share", for_graphics},
    {"nvidia/nvoptix.bin", "/usr/share", for_graphics},
}};

constexpr std::array<const char *, 5> config_places{
    "/etc",
    "/usr/local/share",
    "/usr/share",
    "/run/opengl-driver/share", // NixOS
    "/",                        // GKE has a folder "vulkan" beside the driver's others
};

constexpr std::array<std::string_view, 2> sockets{"nvidia-persistenced/socket",
                                                  "nvidia-fabricmanager/socket"};

} // namespace

std::span<const ProgramName> program_names()
{
    return programs;
}

std::span<const char *const> program_folders()
{
    return program_places;
}

std::span<const ConfigName> config_names()
{
    return configs;
}

std::span<const char *const> config_folders()
{
    return config_places;
}

std::span<const std::string_view> socket_names()
{
    return sockets;
}

} // namespace ogh::nvidia_devices
