// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "host/sysroot.h"

namespace ogh::admin {

/**
 * The strings of a list in a text in TOML 1.0; what else is in the list is left out. Behind it is a library of headers
 * that takes long to compile.
 * @param list its name, behind those of the tables that it is in: "crio.runtime.hooks_dir"
 * @return nothing if there is no such list
 * @throws Error (BrokenHost) if it is no TOML, or is nested deeper than anybody needs
 */
std::optional<std::vector<std::string>> find_texts(const std::string &toml, const std::string &list);

/** The same of a file, which the message of an error names; nothing if there is no file, either. */
std::optional<std::vector<std::string>> read_texts(const Sysroot &sysroot, const std::string &path,
                                                   const std::string &list);

} // namespace ogh::admin
