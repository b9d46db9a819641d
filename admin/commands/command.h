// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engines/engine.h"
#include "hook/command_line.h"
#include "host/sysroot.h"

namespace ogh::admin {

/**
 * One word after oci-gpu-hooks, and what it does.
 * @return the exit status
 * @throws Error
 */
using CommandFunction = int (*)(int argc, const char *const *argv);

struct Command {
    const char *name;
    const char *summary; ///< for the list of commands
    CommandFunction run; ///< argv[0] is the name
};

/** The options that every command has. */
struct CommandOptions {
    std::string sysroot = "/";

    /** @throws Error (Usage, BrokenHost) */
    [[nodiscard]] std::shared_ptr<const Sysroot> open() const { return std::make_shared<Sysroot>(sysroot); }
};

/** The page that --help names. */
inline constexpr const char *page = "oci-gpu-hooks(1)";

/**
 * Adds the options of every command and parses.
 * @return whether to go on: false after --help or --version, which have been printed
 * @throws Error (Usage)
 */
bool parse(CommandLine &cli, CommandOptions &options, int argc, const char *const *argv);

/** Prints to standard output. @throws SystemError */
void print(const std::string &text);

/**
 * Says on standard error what of the engines' files cannot be read: then what is printed may not be all. The doctor has
 * findings for that.
 */
void say_what_is_unread(const std::vector<Engine> &engines);

} // namespace ogh::admin
