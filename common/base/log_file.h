// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "base/unique_fd.h"

namespace ogh {

/**
 * A file that messages are added to, a line each (--log-file), for hosts without syslog such as a worker that is a
 * container itself.
 *
 * It is a plain file of this process's user (root) with one name, which nobody else may write; it is made if it is
 * missing. No component of its path may be a symlink: what root appends to must not be chosen by others.
 */
class LogFile final {
public:
    /**
     * Opens it on the host: call it before entering a container.
     * @param path absolute
     * @throws Error if it is not such a file, or cannot be opened
     */
    explicit LogFile(const std::string &path);

    /** Adds the time (UTC) and `line` in one write, so that lines of hooks that run at once do not mix; never fails. */
    void write(std::string_view line) const;

private:
    UniqueFd fd_;
};

} // namespace ogh
