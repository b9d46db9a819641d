// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <csignal>
#include <map>
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

/** Which program starts a container, and which hooks a runtime is told of that reads no folder of them. */
struct TrialEngine {
    std::string name; ///< "podman", "runc", "crun"
    Program program;  ///< root's, of this host
    std::vector<InstalledHook> hooks;
};

/**
 * Starts a container that asks by these annotations, with storage of its own, and takes it away. Its program is
 * probe(), whose text is the output.
 * @throws Error, SystemError
 */
ProgramOutput start_trial(const TrialEngine &engine, const std::map<std::string, std::string> &annotations);

/** What the program of such a container prints: a line for each folder in /srv and each node of a GPU. */
std::string probe();

} // namespace ogh::admin
