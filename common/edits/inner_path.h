// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace ogh {

/** A path inside a container, absolute, taken apart at the last `/`. */
struct InnerPath {
    std::string parent; ///< "/" or without a `/` at the end
    std::string name;

    /** @throws Error (Usage) if `path` is not absolute, is the root, or has an empty, `.` or `..` component */
    static InnerPath parse(const std::string &path);

    [[nodiscard]] std::string full() const;

    /** Beside it, under the name that it has while it is made: what a process leaves that is killed. */
    [[nodiscard]] InnerPath temporary() const;
};

} // namespace ogh
