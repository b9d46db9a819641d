// SPDX-License-Identifier: Apache-2.0
#include "container/entered_container.h"

#include <iterator>
#include <utility>

#include "base/error.h"
#include "base/text.h"

namespace ogh {

EnteredContainer::EnteredContainer(ContainerView &&view, HostSources &&sources, Progress &progress)
    : sources_(std::move(sources)), view_(std::move(view).enter()), progress_(progress),
      resolver_(std::move(view_.root), view_.mount_policy), writer_(resolver_, view_.owner, progress)
{
}

void EnteredContainer::note(Notes notes)
{
    progress_.notes.insert(progress_.notes.end(), std::make_move_iterator(notes.begin()),
                           std::make_move_iterator(notes.end()));
}

void EnteredContainer::attach(const MountTree &tree, const Inode &inode, const Target &target,
                              const InnerPath &path)
{
    const std::string full = path.full();
    attach_in_injected(tree, target.fd.get(), quote(full));
    // Somebody who renames in a shared volume meanwhile cannot lead the mount out of the container, but the
    // container might not see it where it was promised.
    if (!resolver_.look(path).same_file(inode))
        throw Error(ErrorKind::HostileContainer,
                    quote(full) + " in the container changed while it was mounted");
}

void EnteredContainer::attach_in_injected(const MountTree &tree, int directory, const std::string &what)
{
    tree.attach(directory, what);
    // It dies with the container, but until then nobody could remove a placeholder below it.
    undo().add([this, &tree] { tree.detach(proc()); });
}

} // namespace ogh
