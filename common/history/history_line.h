// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "oci/container_label.h"

namespace ogh {

/**
 * A line of the history: an object of JSON, in ASCII, each member once. What is not known, or empty, is left out. Texts may
 * be anybody's: each is cut.
 */
class HistoryLine final {
public:
    static constexpr size_t max_text = 2000; ///< of one, before it is escaped

    void add(std::string_view name, std::string_view text);
    void add(std::string_view name, const std::vector<std::string> &texts);

    void add_number(std::string_view name, std::uint64_t number);

    /** As seconds, to the millisecond. */
    void add_time(std::string_view name, std::int64_t ns);

    /** With its end. */
    [[nodiscard]] std::string end() && { return std::move(text_) + "}\n"; }

private:
    void begin(std::string_view name);
    void add_text(std::string_view text);

    std::string text_ = "{";
};

/** What the container is called: "name", "image", "user" and "asker". */
void add_label(HistoryLine &line, const ContainerLabel &label);

} // namespace ogh
