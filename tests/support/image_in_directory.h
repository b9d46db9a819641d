// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <string>

#include "image/image_reader.h"

namespace ogh::test {

/** A directory of this process's own mount namespace, read as an image. */
class ImageInDirectory final {
public:
    explicit ImageInDirectory(const std::string &path, ReadAs as = ReadAs::Process)
        : root_(UniqueFd(::open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC))),
          mount_policy_(proc_, ::getpid(), path), reader_(root_, proc_, mount_policy_, as, std::nullopt)
    {
    }

    [[nodiscard]] const ImageReader &reader() const { return reader_; }

private:
    ProcFs proc_;
    RootFs root_;
    MountPolicy mount_policy_;
    ImageReader reader_;
};

} // namespace ogh::test
