// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <vector>

#include "container/places.h"
#include "edits/inner_path.h"
#include "kernel/mount_tree.h"
#include "kernel/proc_fs.h"

namespace ogh {

/** The trees that a run has attached in a container; detached again, last first, unless they are kept. */
class Attached final {
public:
    /** @param proc outlives this */
    explicit Attached(const ProcFs &proc) : proc_(proc) {}
    Attached(const Attached &) = delete;
    Attached &operator=(const Attached &) = delete;
    ~Attached();

    /**
     * Attaches `tree`, whose root is `inode`, on `place`, which was found at `path`.
     * @param tree outlives this
     * @throws Error also if the container would not see it there, because the place was moved meanwhile
     */
    void put(const MountTree &tree, const Inode &inode, const Place &place, const InnerPath &path,
             const Places &places);

    /** Attaches `tree` in a folder of our own, which nobody can move. */
    void put_in_own(const MountTree &tree, int target, const std::string &what);

    /** Keeps a tree until this goes. @return it */
    const MountTree &hold(MountTree tree) { return held_.emplace_back(std::move(tree)); }

    void keep() { trees_.clear(); }

private:
    const ProcFs &proc_;
    std::deque<MountTree> held_;
    std::vector<const MountTree *> trees_;
};

} // namespace ogh
