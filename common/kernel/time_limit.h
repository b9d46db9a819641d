// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <string>

namespace ogh {

/**
 * The time in which this process has to come to its end, for runtimes that would wait for ever. It begins at the
 * construction.
 *
 * When it is over the process ends itself where it looks, see Cancellation. One that hangs in a call does not look: a
 * second later SIGALRM ends it. That covers waits that a fatal signal ends, as for NFS. It does not cover the wait for a
 * FUSE request that the daemon has taken and does not answer: no signal ends that (request_wait_answer() of
 * fs/fuse/dev.c). Where that may happen, go_on_in_child().
 */
class TimeLimit final {
public:
    explicit TimeLimit(std::chrono::milliseconds limit);

    /** Gives the process so much more time, for what it is going to wait for. */
    void extend(std::chrono::milliseconds by);

    [[nodiscard]] bool is_over() const { return std::chrono::steady_clock::now() >= end_; }

    /** "gave up after 25 s" */
    [[nodiscard]] std::string gave_up() const;

    /**
     * Goes on in a child process, and returns there. This process waits for it, and passes on what the child writes to
     * descriptors 1 and 2, and its exit code: then it ends at once, without running destructors, for what there is to be
     * undone or kept the child has undone or kept. The child holds no pipe of this process's caller, who may wait for
     * their ends. What asks this process to end, see block_end_signals(), is passed on to the child, who may have
     * something to take back first.
     *
     * @param stall what may be at fault when the time is over, in words that follow "gave up"
     * @throws Error (TimedOut) in this process: the time has been over for a second, and the child is killed. Where no
     *         signal ends it, it lives on until its wait has an end, and then does nothing more. Also if the child was
     *         killed by others, or could not be made.
     */
    void go_on_in_child(const std::string &stall) const;

private:
    std::chrono::milliseconds limit_;
    std::chrono::steady_clock::time_point end_;
};

/** Whether a run has to end before it is complete: asked where nothing is half done. */
class Cancellation final {
public:
    /** @param limit outlives this; null: for as long as it takes */
    explicit Cancellation(const TimeLimit *limit = nullptr) : limit_(limit) {}

    /** @param at what is being done, in words that follow "while". @throws Cancelled */
    void check(const std::string &at) const;

private:
    const TimeLimit *limit_;
};

} // namespace ogh
