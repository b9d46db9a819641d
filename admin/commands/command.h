// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/command_line.h"
#include "engines/engine.h"
#include "engines/installed_hooks.h"
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

/** The command line of oci-gpu-hooks: help, or the one command that it names. @return, @throws as CommandFunction */
int run_command(int argc, const char *const *argv);

int list(int argc, const char *const *argv);
int tags(int argc, const char *const *argv);
int status(int argc, const char *const *argv);
int history(int argc, const char *const *argv);
int metrics(int argc, const char *const *argv);
int plan(int argc, const char *const *argv);
int cancel(int argc, const char *const *argv);
int check(int argc, const char *const *argv);
int doctor(int argc, const char *const *argv);
int install(int argc, const char *const *argv);
int uninstall(int argc, const char *const *argv);
int unwrap(int argc, const char *const *argv);
int cdi(int argc, const char *const *argv);
int key(int argc, const char *const *argv);

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

/** The hook of that name. @throws Error (Usage) that names those that there are */
const OurHook &named_hook(const std::string &name);

/**
 * What each installed hook lists, for programs: an object whose member "hooks" has for each its name, the engines that
 * call it so, and what it prints, or "error".
 * @param status of the last hook that failed is written there
 * @throws Error
 */
std::string lists_as_json(const std::shared_ptr<const Sysroot> &sysroot, int *status = nullptr);

/**
 * Where something else stands in the place of runc that 'unwrap' would put back, or refuse to; a sentence each.
 * @throws Error if something cannot be looked at
 */
std::vector<std::string> wrapped_runtimes(const Sysroot &sysroot);

/** Ends the command with what it could not do. @throws Error (BrokenHost) if there is a sentence */
void refuse(const std::vector<std::string> &sentences);

/** The installed hooks, as engines call them, after say_what_is_unread(). @throws Error */
std::vector<InstalledHook> hooks_of_host(const std::shared_ptr<const Sysroot> &sysroot);

/**
 * Says on standard error what of the engines' files cannot be read: then what is printed may not be all. The doctor has
 * findings for that.
 */
void say_what_is_unread(const std::vector<Engine> &engines);

} // namespace ogh::admin
