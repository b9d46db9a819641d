// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "host/sysroot.h"

namespace ogh::admin {

/** The file that docker calls for --gpus. @return nothing if it is not there. @throws Error (BrokenHost) */
std::optional<std::string> read_gpu_flag_script(const Sysroot &sysroot);

/**
 * NVIDIA's own program of the name that dockerd looks for. It is what no script of ours is, whatever directory it lies in.
 * @return where it is; nothing if there is none. @throws Error (BrokenHost)
 */
std::optional<std::string> find_vendors_gpu_flag(const Sysroot &sysroot);

} // namespace ogh::admin
