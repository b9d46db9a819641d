// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

namespace ogh {

/** A member to store, with all that is in it. */
struct KeptPath {
    /** The names of the objects that it is in and its own, with a '/' between each. What holds for an object holds for each in
     * a list. */
    std::string_view path;
    /** If it is not empty: of a list those objects are not stored that have another text than this as that member. */
    std::string_view wanted = {};
};

using KeptPaths = std::span<const KeptPath>;

/**
 * Parses JSON that somebody else wrote. What is not in `kept`, if there is any, is checked as JSON but not stored, so
 * that a large seccomp profile costs no memory.
 *
 * @throws Error if it is no JSON object, or is nested deeper than 64 levels; `what` names it in the message
 */
nlohmann::json parse_object(std::string_view text, const char *what, KeptPaths kept = {});

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
