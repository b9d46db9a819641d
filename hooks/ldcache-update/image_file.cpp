// SPDX-License-Identifier: Apache-2.0
#include "image_file.h"

#include <fcntl.h>

#include "error.h"
#include "file.h"
#include "text.h"

namespace ogh::ldcache_update {

namespace {

ImageFile read(const EnteredContainer &container, const std::string &path, size_t limit)
{
    ImageFile file;
    const auto found = container.root().find(path);
    if (!found)
        return file;
    const std::string what = quote(path) + " in the container";
    const Inode inode = Inode::of(found->get(), what);
    file.is_mount = inode.mount_root;
    file.state = ImageFile::State::Other;
    if (!inode.is(Kind::File)) {
        file.problem = "is no plain file";
    } else if (inode.size > limit) {
        file.problem = "is larger than " + std::to_string(limit) + " bytes";
    } else {
        const UniqueFd opened = container.proc().reopen(found->get(), O_RDONLY, what);
        file.content = read_all(opened.get(), limit, what, inode.size);
        file.state = ImageFile::State::Plain;
    }
    return file;
}

} // namespace

ImageFile read_image_file(EnteredContainer &container, const std::string &path, size_t limit)
{
    ImageFile file = read(container, path, limit);
    file.why_not_replace = container.places().why_not_make_in(InnerPath::parse(path).parent);
    return file;
}

} // namespace ogh::ldcache_update
