// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "base/command_line.h"
#include "base/log.h"
#include "request/request.h"

namespace ogh {

/** The options that every hook has. */
struct CommonOptions : OptInOptions {
    std::string sysroot = "/";
    bool plan = false;
    bool only_looks = false; ///< as FileOptions has it: nothing is changed, and nothing is logged
    LogLevel log_level = LogLevel::Warning;
    std::optional<std::string> log_file;
    std::string history; ///< absolute, or "none"; "": default_history
};

/** Adds the options to a hook's command line; they are set in `options` when it is parsed. */
void add_common_options(CommandLine &cli, CommonOptions &options);

/** @throws Error (Usage) if options are given that only make sense with others */
void check(const CommonOptions &options);

/** Absolute, without a `/` at the end. @throws Error (Usage) that names `option` */
std::string absolute_directory(const std::string &path, const char *option);

} // namespace ogh
