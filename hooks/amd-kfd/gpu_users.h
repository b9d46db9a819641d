// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "amd-kfd/inventory.h"
#include "host/sysroot.h"
#include "lease/gpu_users.h"

namespace ogh::amd_kfd {

/** In bytes: "512MiB", "2GiB". @return nothing if it is no such size */
std::optional<std::uint64_t> parse_memory_size(std::string_view text);

/**
 * The processes that have memory of a GPU by KFD, which lists them by their pids on the host with what they have of each
 * GPU (/sys/class/kfd/kfd/proc/PID/vram_ID, kfd_process.c of the kernel), and the GPUs of whose memory
 * no less than `empty_below` bytes are in use (mem_info_vram_used, as amdgpu counts it without asking the GPU).
 * @throws Error (BrokenHost)
 */
GpuUsers find_users(const Sysroot &sysroot, const Inventory &inventory, std::uint64_t empty_below,
                    const Processes &processes, const Monitors &monitors);

} // namespace ogh::amd_kfd
