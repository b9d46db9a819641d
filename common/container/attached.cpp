// SPDX-License-Identifier: Apache-2.0
#include "container/attached.h"

#include "base/error.h"
#include "base/text.h"

namespace ogh {

Attached::~Attached()
{
    for (auto tree = trees_.rbegin(); tree != trees_.rend(); ++tree)
        (*tree)->detach(proc_);
}

void Attached::put(const MountTree &tree, const Inode &inode, const Place &place, const InnerPath &path,
                   const Places &places)
{
    const std::string what = quote(path.full());
    put_in_own(tree, place.fd.get(), what);
    // Somebody who renames in a shared volume meanwhile cannot lead the mount out of the container, but the
    // container might not see it where it was promised.
    if (!places.look(path).same_file(inode))
        throw Error(ExitCode::Failure, what + " in the container changed while it was mounted");
}

void Attached::put_in_own(const MountTree &tree, int target, const std::string &what)
{
    tree.attach(target, what);
    trees_.push_back(&tree);
}

} // namespace ogh
