// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "host/sysroot.h"

namespace ogh::admin {

// Configuration files of others, whatever they are written in.

/**
 * A file as JSON: by its name it is JSON, YAML (in which all scalars become strings), or else TOML.
 * @return nothing if it does not exist
 * @throws Error (BrokenHost) if it cannot be read or understood; the message names it
 */
std::optional<nlohmann::json> read_document(const Sysroot &sysroot, const std::string &path);

/** The same of a text that was read. @param path by whose name it is told what it is written in */
nlohmann::json parse_document(const std::string &path, const std::string &text);

/** The value below these names, one a level. @return nullptr if it is not there */
const nlohmann::json *find_value(const nlohmann::json &document, const std::vector<std::string> &names);

/** The same as a text; "" if it is none. */
std::string text_at(const nlohmann::json &document, const std::vector<std::string> &names);

/** The texts of a list; nothing if there is no such list. */
std::optional<std::vector<std::string>> texts_at(const nlohmann::json &document,
                                                 const std::vector<std::string> &names);

} // namespace ogh::admin
