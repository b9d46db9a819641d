// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/command_line.h"
#include "engines/engine.h"
#include "engines/installed_hooks.h"
#include "host/sysroot.h"
#include "lease/state/lease_state.h"

namespace ogh::admin {

/** A command that was named, and its command line. */
struct Invocation {
    Invocation(const char *command, const char *summary, int count, const char *const *words)
        : name(std::string("oci-gpu-hooks ") + command), cli(name.c_str(), summary, "oci-gpu-hooks(1)"),
          argc(count), argv(words)
    {
    }

    /**
     * Once the command has added its options: adds those of every command, and parses.
     * @return whether to go on: false after --help or --version, which have been printed
     * @throws Error (Usage)
     */
    [[nodiscard]] bool parse();

    /** The host that is meant. @throws Error (Usage, BrokenHost) */
    [[nodiscard]] std::shared_ptr<const Sysroot> open() const { return std::make_shared<Sysroot>(sysroot); }

    std::string name;
    CommandLine cli;
    int argc;
    const char *const *argv; ///< the first is the command's
    std::string sysroot = "/";
};

struct Command {
    const char *name;
    const char *summary; ///< for --help
    /** @param cli of the call @return the exit status @throws Error */
    int (*run)(CommandLine &cli, Invocation &call);
};

/** The command line of oci-gpu-hooks: help, or the one command that it names. @return the exit status @throws Error */
int run_command(int argc, const char *const *argv);

int list(CommandLine &cli, Invocation &call);
int tags(CommandLine &cli, Invocation &call);
int status(CommandLine &cli, Invocation &call);
int history(CommandLine &cli, Invocation &call);
int metrics(CommandLine &cli, Invocation &call);
int plan(CommandLine &cli, Invocation &call);
int cancel(CommandLine &cli, Invocation &call);
int check(CommandLine &cli, Invocation &call);
int doctor(CommandLine &cli, Invocation &call);
int install(CommandLine &cli, Invocation &call);
int uninstall(CommandLine &cli, Invocation &call);
int unwrap(CommandLine &cli, Invocation &call);
int cdi(CommandLine &cli, Invocation &call);
int key(CommandLine &cli, Invocation &call);

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
 * The GPUs that hooks list, with their numbers, each vendor's in order: AMD's partitions have one each, and are told as their
 * GPU; NVIDIA's have none.
 * @throws Error
 */
std::vector<std::pair<LeaseKey, std::uint64_t>> numbered_gpus(const std::shared_ptr<const Sysroot> &sysroot);

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
