// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string_view>

#include <nlohmann/json.hpp>

/** A second opinion on JSON texts: read whole, without the filter that common/json reads them with. */
namespace ogh::fuzz {

/** Nothing if the text is no JSON object, or has a byte that JSON never has. */
std::optional<nlohmann::json> whole_object(std::string_view text);

/** What the limit on nesting (64 levels) says of a JSON text; a last level that is empty may count or not. */
enum class Nesting { Fine, Either, TooDeep };
Nesting nesting(std::string_view text);

/** What the names of members say of a JSON text: that some reader may see something else in it, or that Go certainly does. */
enum class Names { Fine, Either, Twice };
Names names(std::string_view text);

/** A member that is absent or null is nullptr. */
const nlohmann::json *member(const nlohmann::json &object, const char *name);

/** A string that C and the kernel would not cut short. */
bool is_plain_string(const nlohmann::json &value);

/** Nothing, or a plain string. */
bool is_plain_if_there(const nlohmann::json *value);

} // namespace ogh::fuzz
