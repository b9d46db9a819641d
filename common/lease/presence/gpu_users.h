// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "host/sysroot.h"
#include "lease/presence/processes.h"
#include "lease/state/lease_state.h"

namespace ogh {

/** A process that uses GPUs, however it came to them. */
struct GpuUser {
    ProcessId process;
    std::string program;     ///< as the kernel has its name, of at most 15 bytes, which are anybody's choice
    std::string user;        ///< the number of its user
    std::string cgroups;     ///< its /proc/PID/cgroup
    std::set<LeaseKey> gpus; ///< whole ones
};

/** Who uses a host's GPUs. */
struct GpuUsers {
    std::vector<GpuUser> users;
    std::map<LeaseKey, std::string>
        filled;          ///< GPUs that seem to be in use, though not by whom, in words; it may be a holder
    std::string unknown; ///< why it is not known; "" if it is

    static GpuUsers not_known(std::string why) { return {{}, {}, std::move(why)}; }
};

using FindGpuUsers = std::function<GpuUsers(const Processes &)>;

/** A program of the host that watches GPUs, and does not use them. */
struct Monitor {
    uid_t user = 0;   ///< who may run it besides root
    std::string file; ///< absolute, below the sysroot
};

class Monitors final {
public:
    /** @param sysroot outlives this. @param all those that are not there do not count */
    Monitors(const Sysroot &sysroot, std::vector<Monitor> all) : sysroot_(sysroot), all_(std::move(all)) {}

    /**
     * Whether the process runs one of them in the mount namespace of this process: by device and inode, as what a process
     * says of itself is its own choice, and for its user, as anybody can have a program of the host do what they like
     * (LD_PRELOAD). @throws Error
     */
    [[nodiscard]] bool has(const Processes &processes, pid_t pid) const;

private:
    using Identity = std::vector<std::uint64_t>;

    const Sysroot &sysroot_;
    std::vector<Monitor> all_;
    mutable std::optional<std::set<std::pair<Identity, uid_t>>> known_; ///< looked up for the first process
};

/** Why pids do not mean what the host's kernel calls by them, so that nobody can be looked for; "" if they do. */
std::string why_unknown(const Processes &processes);

/** What there is to say of a process. @param gpus that it uses. @return nothing if it has ended */
std::optional<GpuUser> user_of(const Processes &processes, pid_t pid, std::set<LeaseKey> gpus);

/**
 * The GPUs that somebody uses, each with who that is, for people: nobody who has a lease of it or sees it as an observer,
 * which is told by the cgroup. What is filled counts where nobody has a lease.
 */
std::map<LeaseKey, std::string> used_by_others(const Processes &processes, const LeaseState &state,
                                               const GpuUsers &all);

/** The nodes of GPUs, by major and minor number. */
using GpuNodes = std::map<std::pair<unsigned, unsigned>, LeaseKey>;

/** What is looked for among the files that processes have open. */
struct DriverNodes {
    GpuNodes gpus;
    std::set<unsigned> majors;                       ///< of all nodes of the driver's, those above included
    std::set<std::pair<unsigned, unsigned>> foreign; ///< another driver's, with one of these majors
    /** How many files are open of these by the kernel's own count; nothing if it does not say. */
    std::function<std::optional<std::size_t>()> count_open = [] { return std::optional<std::size_t>(); };
};

/** How much of a processor's time it may take to find out who uses GPUs. */
constexpr std::chrono::milliseconds look_for_users{200};

/**
 * How many descriptors and threads are looked at of a user's who is not root, and of a container's: 10 ms, or 100 if each is
 * another process's.
 */
constexpr std::size_t most_of_a_party = 8192;

/**
 * The processes of the host that have a node of a GPU open, by the descriptors of each thread that has some of its own. What
 * they are is told by the device's number, whatever it is called and wherever it is mounted. Nothing is opened but in
 * procfs, and no filesystem is asked (AT_STATX_DONT_SYNC). Takes about 1 µs a descriptor.
 *
 * Where more of these files are open than were found, GPUs count as filled, by who has more descriptors than are looked at,
 * or else by somebody who cannot be seen: as with a descriptor that is on its way through a socket. Where the kernel does not
 * count, by the former alone.
 * @return not known where that takes longer than `most`, or processes may not be looked at, and files are missing
 */
GpuUsers find_node_users(const Processes &processes, const DriverNodes &nodes, const Monitors &monitors,
                         std::chrono::nanoseconds most = look_for_users);

} // namespace ogh
