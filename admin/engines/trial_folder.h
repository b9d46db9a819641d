// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <csignal>
#include <string>

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

/**
 * A folder of this process's own with the root of a container, `rootfs`, in which /probe is this very program; it goes
 * with the object, unless something is still mounted below it.
 */
class TrialFolder final {
public:
    /** @throws Error, SystemError */
    TrialFolder();
    TrialFolder(const TrialFolder &) = delete;
    TrialFolder &operator=(const TrialFolder &) = delete;
    ~TrialFolder();

    [[nodiscard]] const std::string &path() const { return path_; }

private:
    std::string path_;
};

} // namespace ogh::admin
