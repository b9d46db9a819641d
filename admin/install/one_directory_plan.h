// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "engines/engine.h"
#include "install/changes.h"

namespace ogh::admin {

/** "hook" of such a file, which is an entry of "hooks" in config.json as well. `timeout` fits the options. */
nlohmann::ordered_json hook_entry(const OurHook &hook, const std::vector<std::string> &options);

/**
 * The file that has the engine call the hook with these options; see HookFile. `when` and `timeout` fit them.
 */
std::string hook_file_text(const Engine &engine, const OurHook &hook,
                           const std::vector<std::string> &options);

/**
 * Has the doctor look at a file before it is written, and at one that is left as it is.
 * @throws Error (BrokenHost) with the first thing that is wrong, and what to do about it
 */
void refuse_errors(const Engine &engine, const HookFile &file);

/**
 * The planned file of a hook, once the doctor has looked at its text.
 * @throws Error (BrokenHost), as refuse_errors()
 */
PlannedFile planned_hook_file(const InstallHost &host, const InstallRequest &request, const Engine &engine,
                              const OurHook &hook, const std::string &path);

/** Whether the plan has that file. */
bool is_planned(const InstallPlan &plan, const HookFile &file);

/**
 * Files of hooks in a directory of their own for an engine for which every file there is a hook; and what is to be set
 * for it.
 * @throws Error (BrokenHost) where something else is in the directory
 */
InstallPlan plan_one_directory(const InstallHost &host, const InstallRequest &request);

} // namespace ogh::admin
