// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <csignal>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "engines/installed_hooks.h"
#include "engines/programs.h"

namespace ogh::admin {

/** Has SIGINT, SIGTERM and SIGHUP wait as long as it lives: what is begun is taken away before they end this process. */
class SignalsWait final {
public:
    SignalsWait();
    SignalsWait(const SignalsWait &) = delete;
    SignalsWait &operator=(const SignalsWait &) = delete;
    ~SignalsWait();

    /** Whether one waits, so that nothing further is to be begun. */
    [[nodiscard]] static bool is_one_waiting();

private:
    sigset_t before_{};
};

struct TrialEngine;

/** An engine that can be tried. */
struct TrialKind {
    const char *name;
    /** @param directory with the root of the container @param annotations of the container */
    ProgramOutput (*start)(const TrialEngine &engine, const std::string &directory,
                           const std::map<std::string, std::string> &annotations);
};

/** All of them. */
std::span<const TrialKind> trial_kinds();

/** Which program starts a container, and which hooks a runtime is told of that reads no directory of them. */
struct TrialEngine {
    const TrialKind *kind;
    Program program; ///< root's, of this host
    std::vector<InstalledHook> hooks;
};

/**
 * Starts a container that asks by these annotations, with storage of its own, and takes it away. Its program is
 * probe(), whose text is the output.
 * @throws Error, SystemError
 */
ProgramOutput start_trial(const TrialEngine &engine, const std::map<std::string, std::string> &annotations);

/** What a line of probe() has of a node that its program may not, or cannot, open; the reason follows. */
inline constexpr const char *cannot_be_opened = "cannot be opened: ";

/** What the program of such a container prints: a line for each directory in /srv and each node of a GPU. */
std::string probe();

} // namespace ogh::admin
