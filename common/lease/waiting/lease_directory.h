// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "base/unique_fd.h"
#include "host/sysroot.h"
#include "lease/presence/processes.h"

namespace ogh {

/** What is to be done where there can be no leases, for messages. @throws Error */
std::string why_no_lease_place();

/** How somebody waits for a lock. */
struct Patience {
    std::chrono::milliseconds limit; ///< how long one and the same process may have it
    bool is_ended_by_signals = true; ///< not for what has to be done at the end of a run that was told to end
};

/**
 * Locks a file (flock) for this process alone. It waits for as long as the lock goes from one process to another.
 * @param fd open for writing. No other descriptor of the file is closed while it is locked: others would not see by whom.
 * @param name of the file, for messages
 * @throws Error (BrokenHost): one process, which the message names, has had it for so long; Cancelled, within a tenth of
 *         the patience
 */
void lock_file(int fd, const std::string &name, const Processes &processes, const Patience &patience);

/** A file of it that is only ever replaced as a whole. */
struct LeaseDocument {
    const char *name;
    const char *new_name; ///< one is enough: it is used with the lock held
    mode_t mode;
};
constexpr LeaseDocument state_document{"state", "state.new", 0644};
constexpr LeaseDocument people_document{"people", "people.new", 0600};

/**
 * `/run/oci-gpu-hooks/leases` of the host, or that of a user namespace's root: the state in a file that
 * everybody may read, and a lock in another one that nobody but root may open, so that no user can hold root up. Held
 * by descriptor: it works after entering a container.
 */
class LeaseDirectory final {
public:
    /** Whether there can be one: for root, the host's or one of a user namespace with a place for it. @throws Error */
    static bool is_possible(const Sysroot &sysroot);

    /**
     * Makes what is missing of it (0755).
     * @throws Error (BrokenHost) if it, or a directory that it is in, is not root's alone to write, is a symlink, or
     * cannot be made
     */
    explicit LeaseDirectory(const Sysroot &sysroot);

    /** The same; nothing where there can be none. @throws as above */
    static std::optional<LeaseDirectory> open(const Sysroot &sysroot);

    /**
     * Where it is to be: nothing of it is opened or made before make(), which works after entering a container.
     * @return nothing where there can be none. @throws as above
     */
    static std::optional<LeaseDirectory> place(const Sysroot &sysroot);
    /** @throws as above, and where there is no such place */
    [[nodiscard]] LeaseDirectory make() &&;

    /** The directory as it is, for reading; nothing if there is none. @throws as above */
    static std::optional<LeaseDirectory> find(const Sysroot &sysroot);

    /**
     * Waits until no other process has the lock, and takes it; a process that ends gives it back.
     * @return holds the lock until it is closed. @throws Error (BrokenHost); one that names who has kept it for so
     * long; Cancelled
     */
    [[nodiscard]] UniqueFd lock(const Processes &processes, const Patience &patience) const;

    /**
     * Which process keeps the lock, for people: one that is found to have it for half a second, which takes no time where
     * nobody has it.
     * @return "the process 17 ('python3', stopped)"; "" if there is none, and for whoever is not root
     */
    [[nodiscard]] std::string lock_keeper(const Processes &processes) const;

    /** What the file says; "" if there is none. Readable without the lock. @throws Error (BrokenHost) */
    [[nodiscard]] std::string read(const LeaseDocument &document, size_t limit) const;

    /** Replaces the file; with the lock held. @throws Error (BrokenHost), and then it is as it was */
    void write(const LeaseDocument &document, std::string_view text) const;

    /**
     * Opens a file beside the state that only root may read, and makes it if it is missing and is to be written.
     * @throws Error (BrokenHost) for whoever is not root, and if it is not such a file
     */
    [[nodiscard]] UniqueFd open_private(const char *file, int flags) const;

    /** Whose containers the leases bind, for people; "" where they are all of the host. */
    [[nodiscard]] const std::string &scope() const { return scope_; }

    /** What an administrator does if the directory cannot be used: the command. */
    [[nodiscard]] std::string how_to_clear() const { return "rm -r " + on_host_; }

    /** Removes a file of it, if there is such a one. @throws SystemError (BrokenHost) */
    void remove(const char *file) const;

private:
    LeaseDirectory() = default;
    static std::optional<LeaseDirectory> find_above(const Sysroot &sysroot);
    static LeaseDirectory above(const Sysroot &sysroot);
    void complete(const Sysroot &sysroot);
    bool descend(bool makes); ///< @return false if there is none, and it is not made

    [[nodiscard]] UniqueFd make_new(const LeaseDocument &document) const;
    [[nodiscard]] std::string named(const char *file) const;

    UniqueFd fd_;
    std::string on_host_; ///< its path, for people
    std::string scope_;
};

} // namespace ogh
