// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "base/text.h"
#include "nvidia-devices/driver/driver_files.h"
#include "support/driver_installation.h"
#include "support/expect.h"

namespace ogh::test {

/** How an error ends that says where was searched, unless another version is there. */
inline const std::string elsewhere =
    "; if the driver's files are elsewhere on this host, name the directory by --driver-root";

using Names = std::vector<std::string>;

/** These, asked for by name. */
inline nvidia_devices::Capabilities named(nvidia_devices::CapabilityBits capabilities)
{
    return {capabilities, false};
}

inline const nvidia_devices::Capabilities all_capabilities{{}, true};

inline std::string versioned(const std::string &library)
{
    return library + ".so." + DriverInstallation::version;
}

inline Names sorted(Names names)
{
    std::sort(names.begin(), names.end());
    return names;
}

/** A synthetic driver, and what is found of it. */
struct DriverHost : DriverInstallation {
    Notes notes = {}; ///< of the last read()

    // What each capability is to bring. Names with a dot are SONAMEs of libraries with a version of their own.
    static inline const Names utility =
        split_list("libnvidia-ml libnvidia-cfg libnvidia-nscq libnvidia-sandboxutils", ' ');
    static inline const Names compute =
        split_list("libcuda libcudadebugger libnvidia-opencl libnvidia-gpucomp libnvidia-nvvm "
                   "libnvidia-allocator libnvidia-ptxjitcompiler libnvidia-compiler libnvidia-pkcs11 "
                   "libnvidia-pkcs11-openssl3 libnvidia-nvvm70.so.4 libnvidia-tileiras "
                   "libnvidia-fatbinaryloader",
                   ' ');
    static inline const Names video =
        split_list("libvdpau_nvidia libnvidia-encode libnvidia-opticalflow libnvcuvid", ' ');
    static inline const Names graphics =
        split_list("libnvidia-eglcore libnvidia-glcore libnvidia-tls libnvidia-glsi libnvidia-fbc "
                   "libnvidia-ifr libnvidia-rtcore libnvoptix libGLX_nvidia libEGL_nvidia "
                   "libGLESv2_nvidia libGLESv1_CM_nvidia libnvidia-glvkspirv libnvidia-cbl "
                   "libnvidia-present libnvidia-vksc-core libnvidia-wayland-client "
                   "libnvidia-vulkan-producer libnvidia-egl-gbm.so.1 libnvidia-egl-wayland.so.1 "
                   "libnvidia-egl-wayland2.so.1 libnvidia-egl-xcb.so.1 libnvidia-egl-xlib.so.1 "
                   "libnvidia-api.so.1",
                   ' ');
    static inline const Names compute_and_graphics = split_list("libnvidia-gpucomp libnvidia-allocator", ' ');
    static inline const Names ngx = split_list("libnvidia-ngx", ' ');

    /** Every library there is, in lib64. */
    void all_libraries() const
    {
        for (const Names &group : {utility, compute, video, graphics, ngx}) {
            for (const std::string &name : group) {
                if (name.find(".so") == std::string::npos)
                    library("usr/lib64", name);
                else
                    own_library("usr/lib64", name, ".1.2");
            }
        }
    }

    nvidia_devices::DriverFiles read(const nvidia_devices::Capabilities &capabilities, bool required = true,
                                     const std::string &root = "")
    {
        notes.clear();
        const Sysroot host(path());
        return nvidia_devices::read_driver_files({host, "/" + root}, version, capabilities, required, notes);
    }

    std::vector<nvidia_devices::DriverLibrary> libraries(nvidia_devices::CapabilityBits asked)
    {
        return read(named(asked)).libraries;
    }

    std::vector<nvidia_devices::DriverFile> files(nvidia_devices::CapabilityBits asked)
    {
        return read(named(asked)).files;
    }

    Failure failure(nvidia_devices::CapabilityBits asked)
    {
        return failure_of([&] { static_cast<void>(read(named(asked))); });
    }

    /** Where the libraries are, below the host's root. */
    std::string places(nvidia_devices::CapabilityBits asked, const std::string &root = "")
    {
        std::string text;
        for (const auto &each : read(named(asked), true, root).libraries)
            text += (text.empty() ? "" : " ") + each.host_path.substr(path().size());
        return text;
    }
};

} // namespace ogh::test
