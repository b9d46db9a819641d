// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/unique_fd.h"
#include "kernel/pidfd.h"
#include "kernel/proc_fs.h"
#include "lease/state/lease_state.h"

namespace ogh {

/** Field 22 of /proc/PID/stat, in clock ticks; nothing if it is not there. The command in field 2 may be anything. */
std::optional<std::uint64_t> start_time_of(std::string_view stat);

/**
 * Whether /proc/PID/stat (field 9, PF_FORKNOEXEC) says that the process has executed no program since it was forked. The
 * init of a container that a runtime has created is such a one until the container is started, runc's too: it is a child
 * of the one that was executed. False if unknown, and of one that has worked for a second (fields 14, 15): a runtime may
 * be the container's program itself, as crun is WebAssembly's.
 */
bool has_executed_nothing(std::string_view stat);

/**
 * The processes that are names in an open directory, as in /proc; in order.
 * @param what names it in messages
 * @throws Error (BrokenHost)
 */
std::vector<pid_t> process_numbers(int directory, const std::string &what);

/** The processor time that the threads of a process have used, in ns; nothing if it is not there. */
std::optional<std::uint64_t> processor_time_of(pid_t pid);

/**
 * Whether a process is number 1 of a pid namespace below the one that reads it.
 * @param information with the line NSpid, as /proc/PID/status has it, and the fdinfo of a pidfd, which takes less time
 */
bool is_first_of_a_pid_namespace(std::string_view information);

/** A process that is held: the number is its own as long as nothing is readable from the descriptor. */
struct HeldProcess {
    ProcessId id;
    UniqueFd pidfd;
};

/**
 * Who processes are, by this process's own /proc, which is opened at once: it works after entering a container too.
 */
class Processes final {
public:
    /** @throws Error (BrokenHost) if /proc is no procfs, or of another pid namespace than this process's */
    Processes();

    /** Where the numbers of processes are valid that this object knows. */
    [[nodiscard]] const ProcessSpace &space() const { return space_; }

    /** The process that has that number now. @return nothing if there is none. @throws Error */
    [[nodiscard]] std::optional<HeldProcess> open_pidfd(pid_t pid) const;

    /** This process. @throws Error */
    [[nodiscard]] ProcessId own_id() const;

    /**
     * The process that `id` means. It has ended when its pidfd is readable: the state in /proc is Z already when the
     * first thread has ended and others go on.
     * @return nothing if it has ended. @throws Error if that cannot be told
     */
    [[nodiscard]] std::optional<UniqueFd> find(const ProcessId &id) const;

    /** Whether some process has that number now, it may have ended a moment ago: for a first look, which takes no time. */
    [[nodiscard]] static bool is_taken(pid_t pid);

    /** What a file of the process says, such as "cgroup". @return nothing if there is no such process */
    [[nodiscard]] std::optional<std::string> read(pid_t pid, const std::string &name) const;

    /** The same of this process. @throws Error */
    [[nodiscard]] std::string read_own(const std::string &name) const;

    /** Opens a directory of /proc: ".", "self", "42/fd". @return not valid if it cannot be, and errno says why */
    [[nodiscard]] UniqueFd open_directory(const std::string &path) const;

    /** The number of a process's pid namespace. @return nothing if it cannot be told. @throws Error */
    [[nodiscard]] std::optional<std::uint64_t> pid_namespace_of(const std::string &process) const;

    /** Those that /proc shows now. @throws Error (BrokenHost) */
    [[nodiscard]] std::vector<pid_t> all() const;

    /** The pid namespace of a process. @return not valid if it cannot be told */
    [[nodiscard]] UniqueFd open_pid_namespace(pid_t pid) const;

    /** Opens a file of this process. @throws SystemError (BrokenHost) */
    [[nodiscard]] UniqueFd open_own(const std::string &name) const { return proc_.open_self(name); }

private:
    [[nodiscard]] std::optional<ProcessId> identity_of(pid_t pid) const;
    [[nodiscard]] std::optional<std::string> read_path(const std::string &path) const;
    [[nodiscard]] ProcessSpace find_space() const;

    ProcFs proc_;
    ProcessSpace space_;
};

/**
 * A pid namespace, for one look at all processes: what is found out of those below it, and of others, is known from then on.
 * Users may nest them, and have thousands of processes in each.
 */
class PidNamespace final {
public:
    /** @param processes outlives this. @param number as pid_namespace_of() has it */
    PidNamespace(const Processes &processes, std::uint64_t number);

    /** Whether the process is in it, or in one below it; not where that cannot be told. */
    [[nodiscard]] bool has(pid_t pid);

private:
    const Processes &processes_;
    std::map<std::uint64_t, bool> known_; ///< by number: whether that is it, or below it
};

} // namespace ogh
