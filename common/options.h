// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "command_line.h"
#include "key_file.h"
#include "log.h"

namespace ogh {

/** Who may ask for something for a container. */
enum class OptIn {
    Annotation,  ///< whoever sets its annotations
    Environment, ///< also whoever sets its environment: the image, a task file
    Always,      ///< the host, for every container
};

/** The options that every hook has; the host's side of a request. */
struct CommonOptions {
    OptIn opt_in = OptIn::Annotation;
    std::optional<std::string> request;
    bool all_steps = false;
    std::optional<std::string> key_file; ///< absolute; with OptIn::Environment
    std::optional<KeyFile> keys;         ///< what is in it, once it is needed
    std::vector<std::string> only;       ///< KEY=PATTERN each
    std::string sysroot = "/";
    bool plan = false;
    LogLevel log_level = LogLevel::Warning;
    std::optional<std::string> log_file;
};

/** Adds the options to a hook's command line; they are set in `options` when it is parsed. */
void add_common_options(CommandLine &cli, CommonOptions &options);

/** @throws Error (Usage) if options are given that only make sense with others */
void check(const CommonOptions &options);

/** Absolute, without a `/` at the end. @throws Error (Usage) that names `option` */
std::string absolute_folder(const std::string &path, const char *option);

} // namespace ogh
