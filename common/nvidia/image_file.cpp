// SPDX-License-Identifier: Apache-2.0
#include "nvidia/image_file.h"

#include "base/error.h"
#include "base/text.h"
#include "kernel/inode.h"

namespace ogh {

std::optional<UniqueFd> open_image_file(const ImageReader &reader, const std::string &path)
{
    try {
        const std::string what = quote(path) + " in the container";
        const auto found = reader.find(path);
        if (!found)
            return std::nullopt;
        return reader.open(found->get(), Inode::of(found->get(), what), what);
    } catch (const Error &) {
        return std::nullopt; // what is no plain file, or may not be read; links that lead in a circle
    }
}

} // namespace ogh
