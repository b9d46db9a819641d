// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "host/sysroot.h"

namespace ogh::admin {

/**
 * A text in TOML 1.0, with its tables as objects and its lists as arrays. Behind it is a library of headers that takes long
 * to compile.
 * @throws Error (BrokenHost) if it is no TOML, or is nested deeper than anybody needs
 */
nlohmann::json parse_toml(const std::string &toml);

/**
 * The same of a file, which the message of an error names; nothing if there is no file.
 * @param text in place of what the file says
 */
std::optional<nlohmann::json> read_toml(const Sysroot &sysroot, const std::string &path,
                                        std::optional<std::string> text = std::nullopt);

/** What has these names, each within the one before. @return nullptr if there is no such thing */
const nlohmann::json *find_in(const nlohmann::json &document, const std::vector<std::string> &names);

/** The strings of a list; what else is in it is left out. @param list nullptr, and what is no list, have none */
std::vector<std::string> texts_of(const nlohmann::json *list);

} // namespace ogh::admin
