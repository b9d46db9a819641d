// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

namespace ogh {

/**
 * Parses JSON that somebody else wrote.
 *
 * @throws Error if it is no JSON object, or is nested deeper than 64 levels; `what` names it in the message
 */
nlohmann::json parse_object(std::string_view text, const char *what);

/** The member `name` of `object` if it is there and not null, else nullptr. */
const nlohmann::json *find_member(const nlohmann::json &object, const char *name);

/**
 * The member as a string, "" if it is absent.
 * @throws Error if it is no string or contains NUL, which would cut a path or a name short
 */
std::string string_member(const nlohmann::json &object, const char *name, const char *what);

/** The member `name` if it is a text; "" for any other, and where `object` is none. */
std::string text_member(const nlohmann::json &object, const char *name);

/** A string value; `what` and `name` say in the error which one it was. */
std::string checked_string(const nlohmann::json &value, const std::string &name, const char *what);

} // namespace ogh
