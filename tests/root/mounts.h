// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <iosfwd>
#include <string>
#include <vector>

namespace ogh::test {

/** One line of a mount table; proc(5), mountinfo. */
struct Mount {
    std::string id;
    std::string device;
    std::string root;  ///< of the mount in its filesystem
    std::string point; ///< where it is mounted, as the process whose table it is would name it
    std::string options;
    std::string tags; ///< propagation: "shared:1 master:2"
    std::string type;

    bool operator==(const Mount &) const = default;

    [[nodiscard]] bool has(const std::string &option) const;
};

std::ostream &operator<<(std::ostream &out, const Mount &mount);

using Mounts = std::vector<Mount>;

/** The table of the namespace that `pid` is in; 0 is this process. Parsed by hand, not by what is tested. */
Mounts read_mounts(pid_t pid = 0);

void make_mount(const std::string &source, const std::string &target, const std::string &type,
                unsigned long flags = 0);

/** Makes a mount or its whole tree private, slave or shared, read-only, and the like. */
void change_mount(const std::string &target, unsigned long flags);

} // namespace ogh::test
