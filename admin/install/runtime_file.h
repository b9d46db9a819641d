// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "host/sysroot.h"

namespace ogh::admin {

/** What stands under a name. */
struct RuntimeFile {
    enum class Kind : std::uint8_t { Absent, Program, Script, Link, Other };

    Kind kind;
    std::string words; ///< what that is: "is a script", "is a symlink to '/opt/bin/runc-wrapper'"
};

/** @param path absolute; a symlink at its end is not followed. @throws Error */
RuntimeFile look_at_runtime(const Sysroot &sysroot, const std::string &path);

/** What is in a plain file, up to 64 MiB. @param path without any symlink. @throws Error */
std::string read_runtime(const Sysroot &sysroot, const std::string &path);

/**
 * NVIDIA's or AMD's own runtime, which changes what containers are given and then calls runc.
 * @param path of a program, without any symlink
 * @return where that lies which the program is, or is a copy of. @throws Error
 */
std::optional<std::string> find_vendors_runtime(const Sysroot &sysroot, const std::string &path);

} // namespace ogh::admin
