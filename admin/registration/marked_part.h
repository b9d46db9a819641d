// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

namespace ogh::admin {

// A part of somebody's file, between two lines that say so. The rest is left as it is.

/** @param text whole lines @return with the two lines around it, which have the name */
std::string marked(const std::string &name, const std::string &text);

/** With both lines. @return nothing if there is none @throws Error (BrokenHost) if one line is there without the other */
std::optional<std::string> part_in(const std::string &text, const std::string &name);

/**
 * The text with another part of that name, at the end where there is none so far.
 * @param part as marked() gives it; "" for none
 * @throws Error, as part_in()
 */
std::string with_part(const std::string &text, const std::string &name, const std::string &part);

} // namespace ogh::admin
