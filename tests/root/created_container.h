// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/mount.h>
#include <sys/types.h>

#include <functional>
#include <memory>
#include <string>

#include "child.h"
#include "mounts.h"

namespace ogh::test {

/** How the runtime makes a container. */
struct Creation {
    /** Run by init in its own mount namespace: the mounts that config.json would ask for. */
    std::function<void(const std::string &rootfs)> set_up = {};
    unsigned long propagation = MS_SLAVE; ///< of all that init takes over from the host (rootfsPropagation)
    bool pivots = false;                  ///< init goes on to pivot_root, as after the stage createRuntime
    unsigned mapped_root = 0; ///< above 0: a user namespace, in which 0 is this number of the host
};

/**
 * A container as runc has it when it calls the hooks of createRuntime: an init process in a mount namespace of
 * its own, the rootfs bound on itself, its mounts made, not yet pivoted, waiting.
 */
class CreatedContainer final {
public:
    CreatedContainer(std::string rootfs, const Creation &how);

    [[nodiscard]] pid_t pid() const { return init_->pid(); }

    /** Kills init, and waits for its end. */
    void end();

    [[nodiscard]] bool is_alive() const { return init_->pid() > 0; }

    /** What is mounted now and was not when the container was made. */
    [[nodiscard]] Mounts added() const;

    /** Does `work` where a program of the container would: in its mount namespace, its root being `/`. */
    [[nodiscard]] Outcome inside(const Work &work) const;

private:
    std::string rootfs_;
    bool has_user_namespace_;
    std::unique_ptr<Child> init_;
    Mounts at_start_;
};

} // namespace ogh::test
