// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "engines/engine.h"
#include "report/report.h"

namespace ogh::admin {

// What gives containers GPUs past the hooks, where it is there, and so past their policy.

/** Vendors' hooks in the directories that the engine reads, and vendors' runtimes in its configuration. */
Findings check_vendors(const Engine &engine);

/**
 * What a configuration of an engine says, without blanks and without lines that are comments; "" if it is not there.
 * @throws Error (BrokenHost) if it cannot be read, or is larger than 4 MiB
 */
std::string read_settings(const Sysroot &sysroot, const std::string &file);

/** Vendors' runtimes that such settings name. @param file that has them */
Findings check_runtimes(const std::string &settings, const std::string &file);

/**
 * Which directories the engine reads, which files are in effect there, and what is wrong with those of ours: what `install`
 * goes by as well, before it writes anything.
 * @param with_keys looks at key files too; `install` writes a file that waits for its keys
 */
Findings check_calls(const Engine &engine, bool with_keys = false);

/**
 * Which directories the engine reads, which files of ours are in effect there, and what is wrong.
 * @param when_unused how bad it is that it calls none of the hooks
 */
Section check_engine(const Engine &engine, Severity when_unused);

} // namespace ogh::admin
