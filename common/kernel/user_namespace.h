// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/unique_fd.h"
#include "kernel/fs_credentials.h"

namespace ogh {

/** How ids of a user namespace are numbered by this process's own (user_namespaces(7), uid_map). */
class IdMap final {
public:
    /** @throws Error if `text` is not what /proc/PID/uid_map shows */
    static IdMap parse(std::string_view text);

    /** What the container's `id` is here; nothing if it has none. */
    [[nodiscard]] std::optional<std::uint32_t> outside(std::uint32_t id) const;

    /** What the container's 0 is here. */
    [[nodiscard]] std::optional<std::uint32_t> root() const { return outside(0); }

    /** Whether the container has a number for this process's `id`; what it has none for, it cannot own. */
    [[nodiscard]] bool has(std::uint32_t id) const;

private:
    struct Range {
        std::uint32_t inside;
        std::uint32_t outside;
        std::uint32_t count;
    };
    std::vector<Range> ranges_;
};

/** The user namespace of a container, where it is not this process's own. */
struct UserNamespace {
    UniqueFd fd; ///< /proc/PID/ns/user
    IdMap uids;
    IdMap gids;

    /**
     * Whether the container's root may write what `uid` and `gid` own with the permissions of `mode`: as others
     * may, as the owner, or by its capabilities, which reach as far as both ids are mapped (capabilities(7)).
     */
    [[nodiscard]] bool root_may_write(std::uint32_t uid, std::uint32_t gid, mode_t mode) const;
};

/** Its root, as this process numbers it; nothing where there is none, or the namespace maps no root. */
std::optional<FsCredentials> root_of(const std::optional<UserNamespace> &user_namespace);

/**
 * Whether this process is in the first user namespace of the kernel. In any other one, as with a rootless engine, nobody
 * can make device nodes.
 */
bool in_initial_user_namespace();

/** Whether the process is in this process's own namespace of that kind, as /proc calls it: "mnt". @throws Error */
bool shares_namespace(pid_t pid, const std::string &kind);

/** How this process's own user namespace numbers users; the outside is the namespace above. @throws Error */
IdMap own_uids();

/** @return nothing if the process has this process's own user namespace. @throws Error */
std::optional<UserNamespace> user_namespace_of(pid_t pid);

} // namespace ogh
