// SPDX-License-Identifier: Apache-2.0
#include "loader/ld_cache_strings.h"

#include <algorithm>
#include <bit>
#include <functional>

namespace ogh {

namespace {

const char *end_of(std::string_view text)
{
    return text.data() + text.size();
}

} // namespace

LdCacheStrings::LdCacheStrings(size_t expected) : slots_(std::bit_ceil(2 * std::max<size_t>(expected, 8)))
{
    texts_.reserve(expected);
}

size_t LdCacheStrings::slot_of(const char *end) const
{
    const size_t mask = slots_.size() - 1;
    // Addresses differ in their lowest bits most; the product carries them into the upper half.
    const std::uint64_t product = std::hash<const char *>()(end) * std::uint64_t{0x9E3779B97F4A7C15};
    size_t slot = (product >> 32U) & mask;
    while (slots_[slot] != 0 && texts_[slots_[slot] - 1].end != end)
        slot = (slot + 1) & mask;
    return slot;
}

void LdCacheStrings::grow()
{
    slots_.assign(slots_.size() * 2, 0);
    for (std::uint32_t i = 0; i < texts_.size(); i++)
        slots_[slot_of(texts_[i].end)] = i + 1;
}

void LdCacheStrings::add(std::string_view text)
{
    const size_t slot = slot_of(end_of(text));
    if (slots_[slot] != 0) {
        Text &known = texts_[slots_[slot] - 1];
        size_ += text.size() > known.length ? text.size() - known.length : 0;
        known.length = std::max(known.length, text.size());
        return;
    }
    texts_.push_back({end_of(text), text.size(), 0});
    slots_[slot] = static_cast<std::uint32_t>(texts_.size());
    size_ += text.size() + 1;
    if (texts_.size() > slots_.size() / 2)
        grow();
}

void LdCacheStrings::place()
{
    std::uint32_t next = 0;
    for (Text &text : texts_) {
        text.offset = next;
        next += static_cast<std::uint32_t>(text.length) + 1;
    }
}

std::uint32_t LdCacheStrings::offset(std::string_view text) const
{
    const Text &known = texts_[slots_[slot_of(end_of(text))] - 1];
    return known.offset + static_cast<std::uint32_t>(known.length - text.size());
}

void LdCacheStrings::write(std::string &bytes) const
{
    for (const Text &text : texts_) {
        bytes.append(text.end - text.length, text.length);
        bytes.push_back('\0');
    }
}

} // namespace ogh
