// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "engines/engine.h"
#include "host/sysroot.h"
#include "registration/hook_file.h"
#include "report/report.h"

namespace ogh::admin {

/**
 * What is wrong with the key file of a file that calls one of our hooks: without it the hook refuses whoever asks by the
 * environment. Nothing if it is right, or none is named.
 * @param sysroot as the hook sees it
 */
std::optional<Finding> check_key_file(const Sysroot &sysroot, const HookFile &file);

/**
 * Whether the executable that a file names is there, can be changed by root alone, is of this version, and can be run on
 * this machine; nothing if all of that is so. It is read, and never run.
 */
Findings check_executable(const Engine &engine, const HookFile &file);

/** A file in effect that calls one of our hooks: its policy in words, and what is wrong with it. */
Findings check_hook_file(const Engine &engine, const HookFile &file);

/**
 * Asks the hook what it thinks of the options of a file that is to be.
 * @throws Error (Usage) with what is wrong with them on whatever host: an option that there is not, a value that is none
 */
void refuse_wrong_options(const Sysroot &host, const HookFile &file);

} // namespace ogh::admin
