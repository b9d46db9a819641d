// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/log.h"
#include "container/container_writer.h"
#include "container/host_sources.h"
#include "edits/inner_path.h"
#include "image/container_view.h"
#include "kernel/progress.h"

namespace ogh {

/**
 * A container that this process has entered, once and for good, with what it needs of the host in hand. What is done in
 * it goes on the undo log.
 */
class EnteredContainer final {
public:
    /**
     * @param view is used up
     * @param progress outlives this; its undo log is run or dropped before this goes
     * @throws Error as InitProcess::enter() does
     */
    EnteredContainer(ContainerView &&view, HostSources &&sources, Progress &progress);
    EnteredContainer(const EnteredContainer &) = delete;
    EnteredContainer &operator=(const EnteredContainer &) = delete;

    [[nodiscard]] HostSources &sources() { return sources_; }
    [[nodiscard]] const ProcFs &proc() const { return view_.proc; }
    [[nodiscard]] Resolver &resolver() { return resolver_; }
    [[nodiscard]] ContainerWriter &writer() { return writer_; }
    [[nodiscard]] UndoLog &undo() { return progress_.undo; }

    void note(LogLevel level, std::string text) { progress_.notes.push_back({level, std::move(text)}); }
    void note(Notes notes);

    /** Whether a note of this level is written: of many mounts, it takes as long to make as some of these. */
    [[nodiscard]] bool notes(LogLevel level) const { return level <= progress_.level; }

    /** Asked before each part. @param at as Cancellation::check() takes it. @throws Cancelled */
    void check(const std::string &at) const { progress_.cancellation.check(at); }

    /**
     * Attaches `tree`, whose root is `inode`, on `target`, which was found at `path`.
     * @param tree lives as long as this
     * @throws Error also if the container would not see it there, because the target was moved meanwhile
     */
    void attach(const MountTree &tree, const Inode &inode, const Target &target, const InnerPath &path);

    /** The same in a directory of a tmpfs of this collection, which nobody can move. @param what names it in messages */
    void attach_in_injected(const MountTree &tree, int directory, const std::string &what);

private:
    HostSources sources_;
    EnteredView view_;
    Progress &progress_;
    Resolver resolver_;
    ContainerWriter writer_;
};

} // namespace ogh
