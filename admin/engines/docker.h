// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "host/sysroot.h"
#include "registration/hook_file.h"

namespace ogh::admin {

// docker's flag --gpus: where dockerd finds an executable of NVIDIA's name on its PATH when it starts, it puts what the flag
// says into the container's variables, and that executable into its prestart hooks (daemon/nvidia_linux.go of moby, later
// devices_nvidia_linux.go). It has one argument, "prestart", and dockerd's own environment; so a script of that name hands
// the container's state on to the hooks.

/** Where the script lies, by the name that dockerd looks for: before the directory of NVIDIA's own packages on the PATH of a service. */
inline constexpr const char *gpu_flag_path = "/usr/local/bin/nvidia-container-runtime-hook";

/**
 * The script that calls hooks one after the other, as long as none fails. It is as plain as can be: root runs it, and whoever
 * audits the host reads it.
 * @param calls as of hook_file_of(), without characters that do not belong in a line
 */
std::string gpu_flag_script(const std::vector<HookFile> &calls);

/** @return what it calls; nothing if it is not, to the byte, a script of these */
std::optional<std::vector<HookFile>> parse_gpu_flag_script(std::string_view text);

/**
 * A call as a registration: for every container that has the flag.
 * @param words the executable, by its absolute path, and its options
 */
HookFile hook_file_of(std::vector<std::string> words);

/**
 * NVIDIA's own program of the name that dockerd looks for. It is what no script of ours is, whatever directory it lies in.
 * @return where it is; nothing if there is none. @throws Error (BrokenHost)
 */
std::optional<std::string> find_vendors_gpu_flag(const Sysroot &sysroot);

} // namespace ogh::admin
