// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/unique_fd.h"
#include "host/sysroot.h"

namespace ogh::admin {

/** What stands under a name. */
struct RuntimeFile {
    enum class Kind : std::uint8_t { Absent, Program, Script, Link, Other };

    Kind kind = Kind::Absent;
    std::string target; ///< of a symlink: what it says
};

/** @param path absolute; a symlink at its end is not followed. @throws Error */
RuntimeFile look_at_runtime(const Sysroot &sysroot, const std::string &path);

/** What that is in words: "is a script". */
std::string in_words(const RuntimeFile &file);

/** Opens a plain file for reading. @param path without any symlink. @throws Error */
UniqueFd open_runtime(const Sysroot &sysroot, const std::string &path);

/**
 * NVIDIA's or AMD's own runtime, which changes what containers are given and then calls runc.
 * @param path of a program, without any symlink
 * @return where that lies which the program is, or is a copy of. @throws Error
 */
std::optional<std::string> find_vendors_runtime(const Sysroot &sysroot, const std::string &path);

} // namespace ogh::admin
