// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <variant>

#include "loader/ld_cache.h"
#include "support/elf_image.h"
#include "support/ld_cache_image.h"

namespace ogh::test {

/** What was parsed, with the bytes that its views lie in: of their exact size, so that a sanitizer sees every step aside. */
class Parsed final {
public:
    explicit Parsed(const std::string &bytes)
        : size_(bytes.size()),
          bytes_(std::make_unique<char[]>(bytes.size())) // NOLINT(modernize-avoid-c-arrays): no room to spare
    {
        std::copy(bytes.begin(), bytes.end(), bytes_.get());
        result_ = parse_ld_cache({bytes_.get(), size_});
    }

    /** Why it is no cache; "" if it is one. */
    [[nodiscard]] std::string why() const
    {
        const auto *problem = std::get_if<NoLdCache>(&result_);
        return problem == nullptr ? "" : problem->why;
    }

    [[nodiscard]] const LdCache &cache() const
    {
        if (!why().empty())
            throw std::runtime_error(why());
        return std::get<LdCache>(result_);
    }

    /** Whether the view lies in the bytes, and ends with a NUL there. */
    [[nodiscard]] bool is_inside(std::string_view view) const
    {
        const std::string_view bytes(bytes_.get(), size_);
        if (view.data() < bytes.data())
            return false;
        const auto end = static_cast<size_t>(view.data() - bytes.data()) + view.size();
        return end < bytes.size() && bytes[end] == '\0';
    }

    [[nodiscard]] bool is_sound() const
    {
        return !why().empty() ||
               std::all_of(cache().entries.begin(), cache().entries.end(), [&](const auto &entry) {
                   return is_inside(entry.name) && is_inside(entry.path) &&
                          (entry.subdirectory.empty() || is_inside(entry.subdirectory));
               });
    }

private:
    size_t size_;
    std::unique_ptr<char[]> bytes_; // NOLINT(modernize-avoid-c-arrays): as above
    std::variant<LdCache, NoLdCache> result_;
};

/** With something of everything. */
inline CacheImage make_image()
{
    CacheImage image;
    image.entries = {
        {"libx.so.1", "/h/v3/libx.so.1.2", 0x0303, 0, CacheImage::below_hwcaps(1, 3)},
        {"libx.so.1", "/h/v2/libx.so.1.2", 0x0303, 0, CacheImage::below_hwcaps(0)},
        {"libx.so.1", "/lib/libx.so.1", 0x0303, 0x00030200, 0},
        {"libc.so.6", "/lib32/libc.so.6", 0x0003, 0x02060000, 0x8000000000000005},
    };
    image.hwcaps = {"x86-64-v2", "x86-64-v3"};
    return image;
}

template<typename Number> std::string patched(const CacheImage &image, size_t at, Number number)
{
    std::string bytes = image.bytes();
    patch(bytes, at, number);
    return bytes;
}

} // namespace ogh::test
