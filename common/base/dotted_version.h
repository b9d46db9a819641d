// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

namespace ogh {

/** Numbers with dots between them, as in versions of drivers, CUDA and glibc; a part that is not there counts as 0. */
class DottedVersion final {
public:
    static constexpr size_t max_parts = 4;

    DottedVersion() = default;
    DottedVersion(std::initializer_list<std::uint64_t> parts)
    {
        std::copy_n(parts.begin(), std::min(parts.size(), max_parts), parts_.begin());
    }

    /** @return nothing if a part is no number or is empty, or there are more than `most`; blanks are not allowed */
    static std::optional<DottedVersion> parse(std::string_view text, size_t most = max_parts);

    /** The one that a text begins with, of two parts at least: "6.1.0-39-amd64". @return nothing if it begins with none */
    static std::optional<DottedVersion> parse_start(std::string_view text);

    /** "12.4"; at least two parts. */
    [[nodiscard]] std::string text() const;

    /** The first part. */
    [[nodiscard]] std::uint64_t major() const { return parts_.front(); }

    // clang-tidy 14 takes the 0 with which `a < b` compares what this returns for a pointer.
    auto operator<=>(const DottedVersion &) const = default; // NOLINT(modernize-use-nullptr)

private:
    std::array<std::uint64_t, max_parts> parts_{};
};

/** Whether a driver's version is written so: two or three numbers with dots between them, "555.42.07". */
bool is_driver_version(std::string_view text);

} // namespace ogh
