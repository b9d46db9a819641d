// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <vector>

namespace ogh {

/**
 * How to take back what a run has done so far, on the host and in the container. Each effect that could outlive a
 * container which does not start is added as soon as it is there. An error, on its way out, finds the log full and runs
 * it; success drops it.
 */
class UndoLog final {
public:
    /** Takes one effect back. It must not throw: while another error is on its way nobody could act on this one. */
    using Step = std::function<void()>;

    UndoLog() = default;
    UndoLog(const UndoLog &) = delete;
    UndoLog &operator=(const UndoLog &) = delete;
    ~UndoLog() { run(); }

    void add(Step step) { steps_.push_back(std::move(step)); }

    /** Takes over what a part of the run has done, as the last that was done. */
    void append(UndoLog &&part);

    /** Takes back what was done, the last first; the log is empty then. */
    void run() noexcept;

    /** What was done stays. */
    void drop() noexcept { steps_.clear(); }

private:
    std::vector<Step> steps_;
};

} // namespace ogh
