// SPDX-License-Identifier: Apache-2.0
#include "image/previous_request.h"

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "kernel/inode.h"
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
