// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ogh::nvidia_devices {

/** Numbers with dots between them, as in versions of drivers and of CUDA; a part that is not there counts as 0. */
class DottedVersion final {
public:
    DottedVersion() = default;
    DottedVersion(std::initializer_list<std::uint64_t> parts) : parts_(parts) { drop_zeros(); }

    /** @return nothing if a part is no number or is empty; blanks are not allowed */
    static std::optional<DottedVersion> parse(std::string_view text);

    /** "12.4"; at least two parts. */
    [[nodiscard]] std::string text() const;

    bool operator==(const DottedVersion &) const = default;
    auto operator<=>(const DottedVersion &other) const { return parts_ <=> other.parts_; }

private:
    void drop_zeros();

    std::vector<std::uint64_t> parts_; ///< without zeros at the end
};

} // namespace ogh::nvidia_devices
