// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "host/sysroot.h"

namespace ogh::admin {

/** Which build of a hook an executable is, as it says of itself in notes (elf(5), Nhdr). It is read, and not run. */
struct HookVersion {
    std::string version;  ///< "0.2.0"
    std::string build_id; ///< bytes; "" if the linker wrote none

    bool operator==(const HookVersion &) const = default;
};

/** @param fd O_PATH. @return nothing of what is no hook of this collection. @throws SystemError */
std::optional<HookVersion> read_hook_version(int fd, const std::string &what);

} // namespace ogh::admin
