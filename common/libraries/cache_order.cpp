// SPDX-License-Identifier: Apache-2.0
#include "libraries/cache_order.h"

#include <algorithm>
#include <bit>
#include <cstddef>

#include "base/letters.h"
#include "loader/ld_cache_format.h"

namespace ogh {

using namespace ld_cache_format;

namespace {

/** Reads a name from left to right: characters and numbers, and then 0 for ever. */
class Name final {
public:
    Name(std::string_view text, size_t at, CharSign sign) : text_(text), at_(at), sign_(sign) {}

    [[nodiscard]] bool at_number() const { return at_ < text_.size() && is_digit(text_[at_]); }

    /** The character here, as an int of the loader's machine; 0 at the end. */
    [[nodiscard]] int character() const
    {
        if (at_ == text_.size())
            return 0;
        return sign_ == CharSign::Signed ? static_cast<signed char>(text_[at_])
                                         : static_cast<unsigned char>(text_[at_]);
    }

    void step() { at_++; }

    /** The number that begins here, and steps behind it. */
    std::int32_t take_number()
    {
        std::uint32_t number = 0;
        for (; at_number(); at_++)
            number = number * 10 + static_cast<std::uint32_t>(text_[at_] - '0');
        return static_cast<std::int32_t>(number);
    }

private:
    std::string_view text_;
    size_t at_;
    CharSign sign_;
};

template<typename Value> int compare(const Value &a, const Value &b)
{
    if (a == b)
        return 0;
    return a < b ? -1 : 1;
}

/** More bits first, then the larger number. */
int compare_hwcaps(std::uint64_t a, std::uint64_t b)
{
    const int bits = compare(std::popcount(b), std::popcount(a));
    return bits != 0 ? bits : compare(b, a);
}

} // namespace

CharSign char_sign(std::int32_t flags)
{
    switch (flags & flags_machine_mask) {
    case flags_aarch64:
    case flags_arm_hard_float:
    case flags_arm_soft_float:
    case flags_ppc64:
    case flags_s390x:
    case flags_riscv_soft_float:
    case flags_riscv_double_float:
        return CharSign::Unsigned;
    default:
        return CharSign::Signed;
    }
}

int compare_names(std::string_view a, std::string_view b, CharSign sign)
{
    if (a == b) // as an image's cache may have them by the hundred thousand, each one long
        return 0;
    auto begin = static_cast<size_t>(std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first - a.begin());
    if (a.substr(0, begin).find('\0') != std::string_view::npos)
        return 0;
    while (begin > 0 && is_digit(a[begin - 1])) // the number may go on, and is one as a whole
        begin--;
    Name left(a, begin, sign);
    Name right(b, begin, sign);
    while (true) {
        if (left.at_number() != right.at_number())
            return left.at_number() ? 1 : -1;
        if (left.at_number()) {
            if (const int order = compare(left.take_number(), right.take_number()); order != 0)
                return order;
            continue;
        }
        if (left.character() != right.character())
            return compare(left.character(), right.character());
        if (left.character() == 0)
            return 0;
        left.step();
        right.step();
    }
}

int compare_entries(const LdCacheEntry &a, const LdCacheEntry &b, CharSign sign)
{
    if (const int order = compare_names(b.name, a.name, sign); order != 0)
        return order;
    if (a.flags != b.flags)
        return compare(b.flags, a.flags);
    if (a.subdirectory.empty() != b.subdirectory.empty())
        return a.subdirectory.empty() ? 1 : -1;
    if (!a.subdirectory.empty())
        return a.subdirectory.compare(b.subdirectory);
    return compare_hwcaps(a.hwcap, b.hwcap);
}

bool goes_before(const LdCacheEntry &a, const LdCacheEntry &b, CharSign sign)
{
    const int order = compare_entries(a, b, sign);
    return order != 0 ? order < 0 : a.os_version > b.os_version;
}

} // namespace ogh
