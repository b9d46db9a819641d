// SPDX-License-Identifier: Apache-2.0
#include <boost/test/unit_test.hpp>

#include "base/little_endian.h"
#include "loader/ld_cache.h"
#include "support/elf_image.h"
#include "support/ld_cache_image.h"
#include "support/parsed_cache.h"

BOOST_AUTO_TEST_SUITE(ld_cache_extensions)

using namespace ogh;
using ogh::test::CacheImage;
using ogh::test::make_image;
using ogh::test::Parsed;
using ogh::test::patch;
using ogh::test::patched;

namespace {

std::uint32_t word_at(const std::string &bytes, size_t at)
{
    return load_little_endian<std::uint32_t>(bytes, at);
}

/** The names below glibc-hwcaps of all entries that are read. */
std::string subdirectories(const std::string &bytes)
{
    const Parsed parsed(bytes);
    std::string names = parsed.cache().has_extensions ? "" : "no extensions";
    for (const LdCacheEntry &entry : parsed.cache().entries)
        names += entry.subdirectory.empty() ? "" : std::string(entry.subdirectory) + " ";
    return names;
}

} // namespace

BOOST_AUTO_TEST_CASE(hwcaps_with_other_bits_are_those_of_older_times)
{
    CacheImage image = make_image();
    for (const unsigned bit : {42U, 61U, 63U}) {
        const std::uint64_t hwcap = CacheImage::below_hwcaps(1) | std::uint64_t{1} << bit;
        image.entries[0].hwcap = hwcap;
        const Parsed parsed(image.bytes());
        BOOST_TEST(parsed.cache().entries[0].hwcap == hwcap);
        BOOST_TEST(parsed.cache().entries[0].subdirectory.empty());
    }
    image.entries[0].hwcap = CacheImage::below_hwcaps(1, 0x3FF);
    const Parsed highest(image.bytes());
    BOOST_TEST(highest.cache().entries[0].hwcap == std::uint64_t{0x3FF} << 32U);
    BOOST_TEST(highest.cache().entries[0].subdirectory == "x86-64-v3");
}

BOOST_AUTO_TEST_CASE(an_entry_with_a_number_beyond_the_hwcaps_is_left_out)
{
    CacheImage image = make_image();
    for (const std::uint64_t index : {2U, 3U, 0x80000000U, 0xFFFFFFFFU}) {
        image.entries[0].hwcap = CacheImage::below_hwcaps(index);
        const Parsed parsed(image.bytes());
        BOOST_TEST(parsed.cache().left_out == 1U);
        BOOST_TEST(parsed.cache().entries[0].subdirectory == "x86-64-v2");
    }
}

BOOST_AUTO_TEST_CASE(broken_extensions_are_none)
{
    const CacheImage image = make_image();
    const auto size = static_cast<std::uint32_t>(image.bytes().size());
    const auto extensions = static_cast<std::uint32_t>(image.extensions_at());
    const std::string none = "no extensions";
    BOOST_TEST(subdirectories(image.bytes()) == "x86-64-v3 x86-64-v2 ");
    for (const std::uint32_t offset : {0U, extensions + 1, extensions + 2, extensions + 4, extensions - 4,
                                       size / 4 * 4, size / 4 * 4 - 4, 0x80000000U, 0xFFFFFFFCU, 0xFFFFFFFFU})
        BOOST_TEST(subdirectories(patched(image, 32, offset)) == none);
    for (size_t at = 0; at < 4; at++)
        BOOST_TEST(subdirectories(patched(image, extensions + at, std::uint8_t{0x75})) == none);
    // 0x10000001 sections have 16 bytes in 32 bits.
    for (const std::uint32_t count : {7U, 0x10000001U, 0x10000002U, 0xFFFFFFFFU})
        BOOST_TEST(subdirectories(patched(image, extensions + 4, count)) == none);
    BOOST_TEST(
        subdirectories(patched(image, extensions + 4, std::uint32_t{1})).empty()); // the generator alone
    BOOST_TEST(subdirectories(patched(image, extensions + 4, std::uint32_t{0})).empty());
}

BOOST_AUTO_TEST_CASE(extensions_at_the_very_end_are_read)
{
    CacheImage image = make_image();
    image.extensions = false;
    std::string bytes = image.bytes();
    bytes.resize((bytes.size() + 3) / 4 * 4);
    patch(bytes, 32, static_cast<std::uint32_t>(bytes.size()));
    append_little_endian(bytes, std::uint32_t{0xEAA42174});
    append_little_endian(bytes, std::uint32_t{0});
    BOOST_TEST(Parsed(bytes).cache().has_extensions);
    BOOST_TEST(!Parsed(bytes.substr(0, bytes.size() - 1)).cache().has_extensions);
}

BOOST_AUTO_TEST_CASE(extensions_that_are_not_aligned_are_none)
{
    const CacheImage image = make_image();
    for (size_t offset = 0; offset < 4; offset++) {
        std::string bytes = image.bytes();
        bytes.resize((bytes.size() + 3) / 4 * 4 + offset);
        patch(bytes, 32, static_cast<std::uint32_t>(bytes.size()));
        append_little_endian(bytes, std::uint32_t{0xEAA42174});
        append_little_endian(bytes, std::uint32_t{0});
        BOOST_TEST(Parsed(bytes).cache().has_extensions == (offset == 0));
    }
    for (size_t offset = 0; offset < 4; offset++) {
        std::string bytes = image.bytes();
        const std::string names = bytes.substr(image.hwcaps_at(), 8);
        bytes.resize((bytes.size() + 3) / 4 * 4 + offset);
        patch(bytes, image.section_at(1) + 8, static_cast<std::uint32_t>(bytes.size()));
        BOOST_TEST(subdirectories(bytes + names) == (offset == 0 ? "x86-64-v3 x86-64-v2 " : ""));
    }
}

BOOST_AUTO_TEST_CASE(a_section_outside_of_the_file_breaks_the_extensions)
{
    const CacheImage image = make_image();
    const std::string bytes = image.bytes();
    const auto size = static_cast<std::uint32_t>(bytes.size());
    for (const size_t section : {image.section_at(0), image.section_at(1)}) {
        const std::uint32_t rest = size - word_at(bytes, section + 8);
        BOOST_TEST(subdirectories(patched(image, section + 12, rest / 4 * 4)) != "no extensions");
        for (const std::uint32_t length : {rest + 1, 0x7FFFFFFFU, 0xFFFFFFFCU, 0xFFFFFFFFU})
            BOOST_TEST(subdirectories(patched(image, section + 12, length)) == "no extensions");
        for (const std::uint32_t offset : {size - 4, size + 4, 0x80000000U, 0xFFFFFFF8U, 0xFFFFFFFCU})
            BOOST_TEST(subdirectories(patched(image, section + 8, offset)) == "no extensions");
    }
}

BOOST_AUTO_TEST_CASE(a_hwcaps_section_that_is_not_aligned_is_none)
{
    const CacheImage image = make_image();
    const size_t section = image.section_at(1);
    const std::uint32_t offset = word_at(image.bytes(), section + 8);
    BOOST_TEST(subdirectories(patched(image, section + 8, offset + 2)).empty());
    BOOST_TEST(subdirectories(patched(image, section + 12, std::uint32_t{6})).empty());
    BOOST_TEST(subdirectories(patched(image, section + 12, std::uint32_t{0})).empty());
    BOOST_TEST(subdirectories(patched(image, section + 12, std::uint32_t{4})) == "x86-64-v2 ");
    BOOST_TEST(
        subdirectories(patched(image, section, std::uint32_t{4711})).empty()); // of a kind that is not known
}

BOOST_AUTO_TEST_CASE(the_last_hwcaps_section_counts)
{
    const CacheImage image = make_image();
    std::string bytes = image.bytes();
    patch(bytes, image.section_at(0), std::uint32_t{1});
    BOOST_TEST(subdirectories(bytes) == "x86-64-v3 x86-64-v2 ");
    patch(bytes, image.section_at(1) + 12, std::uint32_t{0});
    BOOST_TEST(subdirectories(bytes).empty());
}

BOOST_AUTO_TEST_CASE(names_of_hwcaps_lie_in_the_file)
{
    const CacheImage image = make_image();
    const auto size = static_cast<std::uint32_t>(image.bytes().size());
    // The file ends with the generator's name, which has no NUL.
    for (const std::uint32_t offset : {size, size - 1, size - 9, 0xFFFFFFFFU})
        BOOST_TEST(subdirectories(patched(image, image.hwcaps_at() + 4, offset)) == "x86-64-v2 ");
    CacheImage longer = image;
    longer.hwcaps[1] = std::string(255, 'v');
    BOOST_TEST(subdirectories(longer.bytes()) == longer.hwcaps[1] + " x86-64-v2 ");
    longer.hwcaps[1] += 'v';
    BOOST_TEST(subdirectories(longer.bytes()) == "x86-64-v2 ");
    longer.hwcaps[1] = "";
    BOOST_TEST(subdirectories(longer.bytes()) == "x86-64-v2 ");
    BOOST_TEST(Parsed(longer.bytes()).cache().left_out == 1U);
}

BOOST_AUTO_TEST_SUITE_END()
