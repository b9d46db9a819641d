// SPDX-License-Identifier: Apache-2.0
#include "earlier_file.h"

#include <fcntl.h>

#include <algorithm>

#include "error.h"
#include "file.h"
#include "mount_table.h"
#include "text.h"
#include "tmpfs.h"

namespace ogh {

namespace {

constexpr size_t max_size = 65536;

/** By the mount table: it alone shows who made a mount. */
bool is_on_own_tmpfs(const HostProc &proc, pid_t pid, int file, const Inode &inode)
{
    if (!is_on_tmpfs(file))
        return false;
    const auto own = MountTable(proc.open_of(pid, "mountinfo").get()).ids_of_source(own_source);
    return std::find(own.begin(), own.end(), inode.mount_id) != own.end();
}

} // namespace

std::optional<std::string> read_earlier_file(pid_t pid, const Root &root, const HostProc &proc,
                                             const std::string &path)
{
    const std::string what = quote(path) + " in the container";
    try {
        const auto file = root.find(path);
        if (!file)
            return std::nullopt;
        const Inode inode = Inode::of(file->get(), what);
        if (!inode.is(Kind::File) || inode.uid != 0 || !is_on_own_tmpfs(proc, pid, file->get(), inode))
            return std::nullopt;
        return read_all(proc.reopen(file->get(), O_RDONLY, what).get(), max_size, what);
    } catch (const Error &) {
        return std::nullopt; // an image that has something odd there has nothing of ours
    }
}

} // namespace ogh
