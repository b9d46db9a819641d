// SPDX-License-Identifier: Apache-2.0
#include "nvidia-devices/driver/library_table.h"

namespace ogh::nvidia_devices {

namespace {

constexpr CapabilityBits for_utility{Capability::Utility};
constexpr CapabilityBits for_video{Capability::Video};
constexpr CapabilityBits for_ngx{Capability::Ngx};

/**
 * Which capability brings which library is as libnvidia-container has it (its lists of names in src/nvc_info.c). What
 * only the CDI generator of nvidia-container-toolkit brings is marked, and stands with the capability it serves.
 *
 * Graphics brings two of compute's libraries too: the shader compilers load libnvidia-gpucomp, and GBM's back end,
 * nvidia-drm_gbm.so, is libnvidia-allocator under another name.
 */
constexpr std::array<LibraryName, 51> known_libraries{{
    {"libnvidia-ml", for_utility},
    {"libnvidia-cfg", for_utility},
    {"libnvidia-nscq", for_utility},
    {"libnvidia-sandboxutils", for_utility}, // CDI

    {"libcuda", for_compute},
    {"libcudadebugger", for_compute},
    {"libnvidia-opencl", for_compute},
    {"libnvidia-gpucomp", for_compute_and_graphics},
    {"libnvidia-ptxjitcompiler", for_compute},
    {"libnvidia-fatbinaryloader", for_compute},
    {"libnvidia-allocator", for_compute_and_graphics},
    {"libnvidia-compiler", for_compute},
    {"libnvidia-pkcs11", for_compute},
    {"libnvidia-pkcs11-openssl3", for_compute},
    {"libnvidia-nvvm", for_compute},
    {"libnvidia-nvvm.so.4", for_compute, LibraryVersion::Own, "", "libnvidia-nvvm"},
    {"libnvidia-nvvm70.so.4", for_compute, LibraryVersion::Own}, // CDI
    {"libnvidia-tileiras", for_compute},

    {"libvdpau_nvidia", for_video, LibraryVersion::Driver, "vdpau"},
    {"libnvidia-encode", for_video},
    {"libnvidia-opticalflow", for_video},
    {"libnvcuvid", for_video},

    {"libnvidia-eglcore", for_graphics},
    {"libnvidia-glcore", for_graphics},
    {"libnvidia-tls", for_graphics},
    {"libnvidia-glsi", for_graphics},
    {"libnvidia-fbc", for_graphics},
    {"libnvidia-ifr", for_graphics},
    {"libnvidia-rtcore", for_graphics},
    {"libnvoptix", for_graphics},
    {"libGLX_nvidia", for_graphics},
    {"libEGL_nvidia", for_graphics},
    {"libGLESv2_nvidia", for_graphics},
    {"libGLESv1_CM_nvidia", for_graphics},
    {"libGL", for_graphics, LibraryVersion::Driver, "", "libGLX_nvidia"},
    {"libEGL", for_graphics, LibraryVersion::Driver, "", "libEGL_nvidia"},
    {"libGLESv2", for_graphics, LibraryVersion::Driver, "", "libGLESv2_nvidia"},
    {"libGLESv1_CM", for_graphics, LibraryVersion::Driver, "", "libGLESv1_CM_nvidia"},
    {"libnvidia-glvkspirv", for_graphics},
    {"libnvidia-cbl", for_graphics},
    {"libnvidia-present", for_graphics},                                // of 575 and later, as the next two
    {"libnvidia-vksc-core", for_graphics},                              //
    {"libnvidia-wayland-client", for_graphics},                         //
    {"libnvidia-vulkan-producer", for_graphics},                        // CDI
    {"libnvidia-egl-gbm.so.1", for_graphics, LibraryVersion::Own},      // CDI
    {"libnvidia-egl-wayland.so.1", for_graphics, LibraryVersion::Own},  // CDI
    {"libnvidia-egl-wayland2.so.1", for_graphics, LibraryVersion::Own}, // CDI
    {"libnvidia-egl-xcb.so.1", for_graphics, LibraryVersion::Own},      // CDI
    {"libnvidia-egl-xlib.so.1", for_graphics, LibraryVersion::Own},     // CDI
    {"libnvidia-api.so.1", for_graphics, LibraryVersion::Own},          // CDI

    {"libnvidia-ngx", for_ngx},
}};

constexpr std::array<CapabilityNeed, 6> needs{{
    {Capability::Compute, {"libcuda"}},
    {Capability::Utility, {"libnvidia-ml"}},
    {Capability::Video, {"libnvcuvid", "libnvidia-encode"}},
    {Capability::Graphics, {"libGLX_nvidia", "libEGL_nvidia"}},
    {Capability::Display, {"libGLX_nvidia", "libEGL_nvidia"}},
    {Capability::Ngx, {"libnvidia-ngx"}},
}};

} // namespace

std::span<const LibraryName> library_names()
{
    return known_libraries;
}

std::span<const CapabilityNeed> capability_needs()
{
    return needs;
}

} // namespace ogh::nvidia_devices
