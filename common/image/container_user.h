// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <optional>
#include <vector>

#include "kernel/proc_fs.h"
#include "kernel/user_namespace.h"
#include "oci/config.h"

namespace ogh {

/** As whom files are read for a container; ids as this process numbers them. */
struct ContainerUser {
    uid_t uid = 0;
    gid_t gid = 0;
    std::optional<std::vector<gid_t>> groups = {}; ///< nothing: this process's own, which the container keeps
    bool overrides_permissions = false;
};

/**
 * The user of the container's process on this host. In a user namespace no capability of it counts: it reaches no
 * further than the ids that are mapped, which only the kernel can judge file by file.
 * @param keeps_groups the container keeps the groups of the engine's user
 * @throws Error if an id has no number here; then no runtime could start the process
 */
ContainerUser user_of_process(const ProcessUser &user, const std::optional<UserNamespace> &user_namespace,
                              bool keeps_groups);

/** The root of the container's user namespace; nothing if it has none of its own, and is this process's own root. */
std::optional<ContainerUser> user_of_root(const std::optional<UserNamespace> &user_namespace);

/**
 * While it lives, the kernel judges each access to a file as if `user` made it, ACLs included: setfsuid(2),
 * setgroups(2), and CAP_DAC_OVERRIDE only if that user has it.
 */
class ScopedContainerUser final {
public:
    /** @throws Error if this process cannot do so; then it has changed nothing that matters any more */
    ScopedContainerUser(const ContainerUser &user, const ProcFs &proc);
    ScopedContainerUser(const ScopedContainerUser &) = delete;
    ScopedContainerUser &operator=(const ScopedContainerUser &) = delete;
    ~ScopedContainerUser();

private:
    std::optional<std::vector<gid_t>> own_groups_; ///< nothing if they stayed
};

} // namespace ogh
