// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/unique_fd.h"
#include "host/sysroot.h"

namespace ogh::admin {

/** What the kernel says of a process that nobody else decides; proc(5). */
struct ProcessIdentity {
    std::string uids;               ///< real, effective, saved, file system: "0 0 0 0"
    std::uint64_t effective = 0;    ///< its effective capabilities
    std::string user_namespace;     ///< "user:[4026531837]"
    std::string executable;         ///< its path, as the process names it
    std::string why_not_root_alone; ///< what lets others than root change that executable; "" if nothing does

    bool operator==(const ProcessIdentity &) const = default;
};

/**
 * A process of this host: its directory of /proc, which never becomes another process's, and has nothing in it once it has
 * ended. All that is said of a process is read from there. What it says of itself (its command line, its environment) is
 * a claim.
 */
class Process final {
public:
    /** @return nothing if there is none of that number. @throws SystemError (BrokenHost) */
    static std::optional<Process> open(pid_t pid);

    [[nodiscard]] pid_t pid() const { return pid_; }

    /** @throws Error (BrokenHost) if it has ended, or this process may not look */
    [[nodiscard]] ProcessIdentity identity() const;

    /** Its command line, never empty. @return nothing of a kernel's thread, of one that has ended, or above 128 KiB */
    [[nodiscard]] std::optional<std::vector<std::string>> words() const;

    /** The environment that it was started with, NAME=VALUE. @throws Error (BrokenHost) */
    [[nodiscard]] std::vector<std::string> environment() const;

    /** The files as it sees them; nothing if they are those of this process. @throws Error (BrokenHost) */
    [[nodiscard]] std::optional<Sysroot> own_root() const;

    /** @throws Error (BrokenHost) if it has ended, or executed something else since `before` */
    void check_is_still(const ProcessIdentity &before) const;

private:
    Process(pid_t pid, UniqueFd directory) : pid_(pid), directory_(std::move(directory)) {}

    static constexpr size_t max_file = size_t{1} << 21U;

    [[nodiscard]] std::string read(const std::string &name, size_t limit = max_file) const;

    pid_t pid_;
    UniqueFd directory_;
};

/** Anybody can start processes, and each takes some time to look at. */
inline constexpr size_t max_processes = 100'000;

/** Visits the processes of this host, by number, one at a time. @return false if there are more than max_processes */
bool visit_processes(const std::function<void(const Process &)> &visit);

} // namespace ogh::admin
