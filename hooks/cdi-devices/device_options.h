// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cdi-devices/plan/mount_plan.h"
#include "cdi-devices/request/device_choice.h"
#include "hook/gpu_lease.h"
#include "hook/hook.h"
#include "hook/listing.h"

namespace ogh::cdi_devices {

/** What the host says beside the options of every hook. */
struct Options {
    std::vector<std::string> directories;
    std::optional<std::string> allow;
    std::optional<unsigned> max_devices;
    Writable writable = Writable::Stated;
    bool give_gpus = false;
    bool ignore_health = false; ///< of those GPUs
    bool require_env = false;
    bool engine_annotations = false;
    LeaseOptions leases;
    ListOptions list;
};

void add_options(CommandLine &cli, Options &options);

/** @throws Error (Usage) for what does not go together */
void check(const Options &options, const CommonOptions &common);

/** @param options as check() accepts them @throws Error (Usage) */
Policy policy_of(const Options &options);

/** Where specifications are, in the order in which they count. @throws Error (Usage) */
std::vector<std::string> directories_of(const Options &options);

} // namespace ogh::cdi_devices
