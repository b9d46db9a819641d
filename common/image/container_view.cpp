// SPDX-License-Identifier: Apache-2.0
#include "image/container_view.h"

#include <fcntl.h>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "kernel/inode.h"
#include "kernel/openat2.h"
#include "kernel/tmpfs.h"

namespace ogh {

namespace {

constexpr size_t max_size = 65536;

/** By the mount table: it alone shows who made a mount. */
bool is_on_own_tmpfs(ContainerView &view, int file, const Inode &inode)
{
    return is_on_tmpfs(file) && view.mount_policy().is_on(injected_source, inode);
}

} // namespace

ContainerView::ContainerView(Container container) : container_(std::move(container)), init_(container_.pid)
{
    init_.look_at([&] { mount_policy_.emplace(proc_, container_.pid, container_.rootfs); });
}

const RootFs &ContainerView::root()
{
    if (root_)
        return *root_;
    init_.look_at([&] {
        const UniqueFd top = proc_.open_root_of(container_.pid);
        auto found = find_path(top.get(), container_.rootfs, O_PATH | O_DIRECTORY, Walk::InRoot,
                               "the container's root");
        if (!found)
            throw not_at(container_.rootfs);
        root_.emplace(std::move(*found));
    });
    return *root_;
}

ImageReader ContainerView::reader(ReadAs as)
{
    const auto &user_namespace = init_.user_namespace();
    if (as == ReadAs::Process)
        return {root(),
                proc_,
                mount_policy(),
                as,
                on_this_host(container_.user, user_namespace),
                container_.keeps_groups};
    // The root of a user namespace; without one it is this process's own.
    return {root(), proc_, mount_policy(), as,
            user_namespace ? std::optional(on_this_host({}, user_namespace)) : std::nullopt};
}

EnteredView ContainerView::enter() &&
{
    const auto owner = root_of(init_.user_namespace());
    EnteredRoot root = std::move(init_).enter(container_.rootfs);
    return {std::move(proc_), std::move(*mount_policy_), std::move(root), owner};
}

std::optional<std::string> read_previous_request(ContainerView &view, const std::string &path)
{
    const std::string what = quote(path) + " in the container";
    try {
        const ImageReader reader = view.reader(ReadAs::Root);
        const auto file = reader.find(path);
        if (!file)
            return std::nullopt;
        const Inode inode = Inode::of(file->get(), what);
        if (!inode.is(Kind::File) || inode.uid != 0 || !is_on_own_tmpfs(view, file->get(), inode))
            return std::nullopt;
        return read_all(reader.open(file->get(), inode, what).get(), max_size, what);
    } catch (const Error &) {
        return std::nullopt; // an image that has something odd there has nothing of an earlier request
    }
}

} // namespace ogh
