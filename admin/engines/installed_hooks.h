// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "engines/engine.h"
#include "engines/programs.h"
#include "registration/hooks.h"

namespace ogh::admin {

/** One of our hooks, with the options with which engines call it; see FileOptions. */
struct InstalledHook {
    const OurHook *hook;
    std::vector<std::string> options;  ///< those of the policy alone
    std::vector<std::string> engines;  ///< that call it so; empty if none does, then there are no options
    std::vector<std::string> others{}; ///< to be written into further files, and never for run_hook()
};

/**
 * Each hook once for each way in which engines call it, in their order; those that are installed and not called too.
 * Engines with a root of their own are left out.
 */
std::vector<InstalledHook> installed_hooks(const Sysroot &sysroot, const std::vector<Engine> &engines);

/** A file that would have it called so, as far as executable and args go. */
HookFile hook_file(const InstalledHook &hook);

/** "nvidia-devices, as podman calls it" */
std::string title_of(const InstalledHook &hook);

/**
 * Runs the executable that belongs to this command for a look, with the options of the policy and these.
 * @param sysroot handed on to it. @param options of which one is a look, see option_use
 */
ProgramOutput run_hook(const Sysroot &sysroot, const InstalledHook &hook,
                       const std::vector<std::string> &options);

/** The last line that it has written to standard error, without its name. */
std::string message_of(const InstalledHook &hook, const ProgramOutput &output);

} // namespace ogh::admin
