// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "libraries/cache_order.h"

BOOST_AUTO_TEST_SUITE(cache_order)

using namespace ogh;

namespace {

int names(std::string_view a, std::string_view b, CharSign sign = CharSign::Signed)
{
    return compare_names(a, b, sign);
}

/** Whether each is less than all behind it. */
bool ascend(const std::vector<std::string> &texts, CharSign sign)
{
    for (size_t i = 0; i < texts.size(); i++) {
        for (size_t j = 0; j < texts.size(); j++) {
            const int order = names(texts[i], texts[j], sign);
            if ((order < 0) != (i < j) || (order == 0) != (i == j))
                return false;
        }
    }
    return true;
}

LdCacheEntry entry(std::uint64_t hwcap = 0, std::string_view subdirectory = "", std::uint32_t os_version = 0)
{
    return {"libx.so.1", "/lib/libx.so.1", 0x0303, os_version, hwcap, subdirectory};
}

/** Whether they are in the order in which the loader shall find them. */
bool in_order(const std::vector<LdCacheEntry> &entries)
{
    for (size_t i = 0; i < entries.size(); i++) {
        for (size_t j = 0; j < entries.size(); j++) {
            if (goes_before(entries[i], entries[j], CharSign::Signed) != (i < j))
                return false;
        }
    }
    return true;
}

} // namespace

BOOST_AUTO_TEST_CASE(digits_are_compared_as_numbers)
{
    BOOST_TEST(ascend({"lib", "lib.so", "liba.so", "liba.so.9", "liba.so.10", "liba.so.10.1",
                       "liba.so.10.1.2", "liba.so.11", "libz", "lib2", "lib10"},
                      CharSign::Signed));
}

BOOST_AUTO_TEST_CASE(a_number_is_one_from_its_first_digit_on)
{
    BOOST_TEST(ascend({"lib1a.so", "lib12.so", "lib12.so.1", "lib123.so"}, CharSign::Signed));
    BOOST_TEST(
        ascend({"libabcdefgh1z", "libabcdefgh10", "libabcdefgh12", "libabcdefgh100"}, CharSign::Signed));
    BOOST_TEST(ascend({"lib99999999999", "lib9999999999"}, CharSign::Signed)); // 1215752191 and 1410065407
}

BOOST_AUTO_TEST_CASE(a_number_is_more_than_any_character_and_than_the_end)
{
    BOOST_TEST(ascend({"", "-", "a", "z", "~", "0"}, CharSign::Signed));
    BOOST_TEST(ascend({"x", "x.", "xz", "x1"}, CharSign::Signed));
    BOOST_TEST(names("x1y", "x1") > 0);
    BOOST_TEST(names("x1", "x1y") < 0);
}

BOOST_AUTO_TEST_CASE(leading_zeros_do_not_count)
{
    BOOST_TEST(names("lib1.so", "lib01.so") == 0);
    BOOST_TEST(names("lib0", "lib000") == 0);
    BOOST_TEST(names("lib01a", "lib1b") < 0);
}

BOOST_AUTO_TEST_CASE(numbers_wrap_around_as_an_int_of_32_bits)
{
    BOOST_TEST(names("2147483647", "2147483646") > 0);
    BOOST_TEST(names("2147483648", "0") < 0); // the least of all
    BOOST_TEST(names("4294967296", "0") == 0);
    BOOST_TEST(names("4294967297", "2") < 0);
    BOOST_TEST(names("99999999999999999999999999", "99999999999999999999999999") == 0);
    // Their difference does not fit into an int.
    BOOST_TEST(ascend({"2147483648", "3000000000", "4294967295", "0", "1000000000", "2147483647"},
                      CharSign::Signed));
}

BOOST_AUTO_TEST_CASE(characters_beyond_ascii_are_as_the_machine_has_them)
{
    BOOST_TEST(ascend({"x\x80", "x\xff", "x", "x\x01", "xz"}, CharSign::Signed));
    BOOST_TEST(ascend({"x", "x\x01", "xz", "x\x80", "x\xff", "x1"}, CharSign::Unsigned));
}

BOOST_AUTO_TEST_CASE(the_flags_tell_the_machine)
{
    for (const int flags : {0x0303, 0x0803, 0x0003, 0x0001, 0})
        BOOST_TEST((char_sign(flags) == CharSign::Signed));
    for (const int flags : {0x0A03, 0x0903, 0x0B03, 0x0503, 0x0403, 0x0F03, 0x1003})
        BOOST_TEST((char_sign(flags) == CharSign::Unsigned));
}

BOOST_AUTO_TEST_CASE(what_is_behind_a_nul_does_not_count)
{
    using namespace std::string_view_literals;
    BOOST_TEST(names("a\0b"sv, "a"sv) == 0);
    BOOST_TEST(names("a\0b"sv, "a\0c"sv) == 0);
    BOOST_TEST(names("a\0001"sv, "a2"sv) < 0);
}

BOOST_AUTO_TEST_CASE(any_names_have_an_order)
{
    const std::string letters = "09a\xff\x01\x80";
    std::vector<std::string> texts = {"", "2147483648", "4294967295", "4294967296"};
    for (const char first : letters) {
        for (const char second : letters) {
            for (const char third : letters)
                texts.push_back({first, second, third});
        }
    }
    for (const CharSign sign : {CharSign::Signed, CharSign::Unsigned}) {
        for (const std::string &a : texts) {
            for (const std::string &b : texts) {
                const int ab = names(a, b, sign);
                BOOST_TEST(ab == -names(b, a, sign));
                for (const std::string &c : texts) {
                    if (ab <= 0 && names(b, c, sign) <= 0 && names(a, c, sign) > 0)
                        BOOST_ERROR("no order");
                }
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(entries_go_down_by_name_and_flags)
{
    LdCacheEntry higher = entry();
    higher.name = "libx.so.2";
    LdCacheEntry narrow = entry(~std::uint64_t{0}, "x86-64-v4", 99);
    narrow.flags = 0x0003;
    LdCacheEntry negative = narrow;
    negative.flags = -1;
    BOOST_TEST(in_order({higher, entry(), narrow, negative}));
}

BOOST_AUTO_TEST_CASE(entries_below_hwcaps_go_first_by_subdirectory)
{
    BOOST_TEST(
        in_order({entry(0, "x86-64-v2"), entry(0, "x86-64-v3"), entry(0, "x\xff"), entry(7), entry()}));
    // Their level says nothing about the order.
    BOOST_TEST(compare_entries(entry(1, "x86-64-v2"), entry(2, "x86-64-v2"), CharSign::Signed) == 0);
}

BOOST_AUTO_TEST_CASE(more_bits_of_old_hwcaps_go_first)
{
    BOOST_TEST(in_order(
        {entry(7), entry(6), entry(3), entry(std::uint64_t{1} << 63U), entry(2), entry(1), entry()}));
}

BOOST_AUTO_TEST_CASE(the_newer_os_goes_first_at_last)
{
    BOOST_TEST(in_order({entry(1), entry(0, "", 0x80000000), entry(0, "", 2), entry(0, "", 1), entry()}));
    BOOST_TEST(compare_entries(entry(0, "", 1), entry(0, "", 2), CharSign::Signed) == 0);
}

BOOST_AUTO_TEST_SUITE_END()
