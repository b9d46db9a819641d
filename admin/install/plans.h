// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "engines/engine.h"
#include "engines/installed_hooks.h"
#include "install/changes.h"

namespace ogh::admin {

// What is to be on the host for an engine, by the way in which it is told of hooks. A plan changes nothing.

/** "hook" of such a file, which is an entry of "hooks" in config.json as well. `timeout` fits the options. */
nlohmann::ordered_json hook_entry(const OurHook &hook, const std::vector<std::string> &options);

/**
 * Has the doctor look at what an engine would call, before anything is written.
 * @param after with the planned files
 * @param others as it is, without the hooks that are asked for: what is wrong with these alone is nobody's fault here
 * @return by which file it calls which hook with which policy, and what else is worth a look; a line each
 * @throws Error (BrokenHost) with the first thing that would be wrong, and what to do about it
 */
std::vector<std::string> checked_calls(const Engine &after, const Engine &others);

/**
 * Files of hooks in a directory of their own for an engine for which every file there is a hook; and what is to be set
 * for it.
 * @throws Error (BrokenHost) where something else is in the directory
 */
InstallPlan plan_one_directory(const InstallHost &host, const InstallRequest &request);

/**
 * For engines that read hooks_dir: files of /etc/containers/oci/hooks.d for hooks that are to have options or that the
 * engine does not call yet, and then the option that names the directory, where the engine does not read it. Before them,
 * where an image's annotations would count, a list of defaults that keeps images from asking: each annotation of this
 * collection with the value "-", behind those that somebody else has in effect.
 * @throws Error where what is written would not be in effect, or would bring something into effect that is broken
 */
InstallPlan plan_hooks_d(const InstallHost &host, const InstallRequest &request, const Engine &engine);

/** @param engine as it is found afterwards @throws Error (BrokenHost) if it does not call each hook by the planned file */
void check_in_effect(const std::vector<Change> &changes, const Engine &engine);

/** Whether the hook has --cdi: ldcache-update goes along with the others, and cdi-devices gives what others describe. */
bool has_cdi(const OurHook &hook);

/**
 * What a hook says with --cdi.
 * @param options with which its devices call it; the hook that is run now has those of the policy alone
 * @param kind of --kind; "" for the hook's own
 * @throws Error with the hook's exit status and its message
 */
std::string cdi_of(const Sysroot &sysroot, const OurHook &hook, const std::vector<std::string> &options,
                   const std::string &kind = "");

/**
 * The options with which engines call the hook by files of hooks, without who may ask: a CDI specification is not to give
 * more than these do, and its hook looks and logs where theirs does.
 * @throws Error (BrokenHost) if engines call it with different ones
 */
std::vector<std::string> options_in_effect(const std::vector<InstalledHook> &installed, const OurHook &hook);

/** Specifications in /etc/cdi, for Docker and containerd. */
InstallPlan plan_cdi(const InstallHost &host, const InstallRequest &request);

/**
 * Whether containerd is to call the hooks for each container of a runtime, and not for those that get a device of a CDI
 * specification: a runtime is named, or a device plugin says what a container gets (--from).
 */
bool wants_runtime(const InstallRequest &request);

/**
 * A runtime of containerd's plugin for CRI whose containers start from a spec with the hooks: the spec, and then the
 * runtime. That is a file of its own where containerd merges what it imports (2.0), and a part of the main file where a
 * file that it imports would take the place of all that is said of the plugin.
 * @throws Error where a runtime of that name is somebody's, containerd's own default is not known, or a part of the main
 *         file would not be in effect
 */
InstallPlan plan_runtime(const InstallHost &host, const InstallRequest &request);

/**
 * What docker's flag --gpus calls: nvidia-devices with the policy, and then ldcache-update if it is there.
 * @throws Error (BrokenHost) where NVIDIA's own program of that name is, on a host whose GPUs are all AMD's, or with what
 *         the doctor finds; (Usage) for another hook, and for options that say who asks
 */
InstallPlan plan_gpu_flag(const InstallHost &host, const InstallRequest &request);

} // namespace ogh::admin
