// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace ogh::amd_kfd {

/** Which instructions a GPU has: KFD's gfx_target_version, major * 10000 + minor * 100 + stepping. */
struct GfxVersion {
    unsigned number = 0; ///< 0: not known, as on old kernels

    bool operator==(const GfxVersion &) const = default;
};

/** As compilers call it: "gfx90a", "gfx1100"; the last two digits are hexadecimal. "" if it is not known. */
std::string name_of(GfxVersion version);

/**
 * Whether processors of this version are parts of a CPU ("APU" in the table of processors of LLVM's User Guide for
 * AMDGPU Backend), and not GPUs of their own.
 */
bool is_integrated(GfxVersion version);

/** For the process environment of a container, where ROCm reads it, and nowhere else. */
constexpr std::string_view override_variable = "HSA_OVERRIDE_GFX_VERSION";

/**
 * That variable with a value with which ROCm packages that were not built for this version have been seen to work: the
 * nearest version that they were built for. Which versions an image's ROCm knows cannot be seen from outside.
 * @return "HSA_OVERRIDE_GFX_VERSION=11.0.0"; "" where nothing is known to help, or nothing is needed
 */
std::string override_text(GfxVersion version);

} // namespace ogh::amd_kfd
