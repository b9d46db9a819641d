// SPDX-License-Identifier: Apache-2.0
#include <array>

#include <boost/test/unit_test.hpp>

#include "loader/ld_cache.h"
#include "support/elf_image.h"
#include "support/ld_cache_image.h"
#include "support/parsed_cache.h"

BOOST_AUTO_TEST_SUITE(ld_cache)

using namespace ogh;
using ogh::test::CacheForm;
using ogh::test::CacheImage;
using ogh::test::make_image;
using ogh::test::Parsed;
using ogh::test::patch;
using ogh::test::patched;

namespace {

std::string why(const std::string &bytes)
{
    return Parsed(bytes).why();
}

constexpr std::array every_new_form = {CacheForm::New, CacheForm::OldWithNew, CacheForm::OldWithNewX86};

constexpr const char *no_cache = "it is no cache that glibc has written";
constexpr const char *cut_short = "it is cut short";
constexpr const char *too_many = "it has more entries than would fit into it";
constexpr const char *byte_order = "it is for machines of another byte order";

} // namespace

BOOST_AUTO_TEST_CASE(the_new_form_is_read_alone_and_embedded)
{
    for (const size_t more : {0U, 1U}) { // the old form ends at a multiple of 8, or not
        for (const CacheForm form : every_new_form) {
            CacheImage image = make_image();
            image.entries.resize(image.entries.size() + more, {"liba.so", "/lib/liba.so"});
            const Parsed parsed(image.bytes(form));
            const LdCache &cache = parsed.cache();
            BOOST_TEST(cache.has_extensions);
            BOOST_TEST(cache.left_out == 0U);
            BOOST_REQUIRE(cache.entries.size() == 4 + more);
            const std::uint64_t level = std::uint64_t{3} << 32U;
            BOOST_TEST((cache.entries[0] ==
                        LdCacheEntry{"libx.so.1", "/h/v3/libx.so.1.2", 0x0303, 0, level, "x86-64-v3"}));
            BOOST_TEST((cache.entries[1] ==
                        LdCacheEntry{"libx.so.1", "/h/v2/libx.so.1.2", 0x0303, 0, 0, "x86-64-v2"}));
            BOOST_TEST(
                (cache.entries[2] == LdCacheEntry{"libx.so.1", "/lib/libx.so.1", 0x0303, 0x00030200, 0, ""}));
            BOOST_TEST((cache.entries[3] == LdCacheEntry{"libc.so.6", "/lib32/libc.so.6", 3, 0x02060000,
                                                         0x8000000000000005, ""}));
        }
    }
}

BOOST_AUTO_TEST_CASE(the_old_form_alone_is_read)
{
    const Parsed parsed(make_image().bytes(CacheForm::Old));
    const LdCache &cache = parsed.cache();
    BOOST_TEST(!cache.has_extensions);
    BOOST_REQUIRE(cache.entries.size() == 4U);
    BOOST_TEST((cache.entries[0] == LdCacheEntry{"libx.so.1", "/h/v3/libx.so.1.2", 0x0303, 0, 0, ""}));
    BOOST_TEST((cache.entries[3] == LdCacheEntry{"libc.so.6", "/lib32/libc.so.6", 3, 0, 0, ""}));
}

BOOST_AUTO_TEST_CASE(a_cache_from_before_extensions_is_read)
{
    CacheImage image = make_image();
    image.extensions = false;
    image.byte_order = 0;
    const Parsed parsed(image.bytes());
    BOOST_TEST(!parsed.cache().has_extensions);
    BOOST_TEST(parsed.cache().left_out == 2U); // no loader can know what their hwcaps mean
    BOOST_TEST(parsed.cache().entries.size() == 2U);
}

BOOST_AUTO_TEST_CASE(every_byte_of_the_magic_counts)
{
    BOOST_TEST(why("") == no_cache);
    for (const CacheForm form : {CacheForm::New, CacheForm::Old}) {
        const std::string bytes = make_image().bytes(form);
        for (size_t at = 0; at < (form == CacheForm::New ? 20U : 11U); at++) {
            std::string damaged = bytes;
            damaged[at] ^= 1;
            BOOST_TEST(why(damaged) == no_cache);
        }
    }
    std::string padding = make_image().bytes(CacheForm::Old);
    padding[11] = 'x';
    BOOST_TEST(why(padding).empty());
}

BOOST_AUTO_TEST_CASE(without_its_magic_the_embedded_form_is_not_there)
{
    const CacheImage image = make_image();
    std::string bytes = image.bytes(CacheForm::OldWithNew);
    bytes[image.new_at(CacheForm::OldWithNew) + 19] = '2';
    const Parsed parsed(bytes);
    BOOST_TEST(!parsed.cache().has_extensions);
    BOOST_TEST(parsed.cache().entries.size() == 4U);
    // Neither is it if its header is not whole: then the strings of the old form are what is left.
    const size_t header_end = image.new_at(CacheForm::OldWithNew) + 48;
    BOOST_TEST(Parsed(bytes.substr(0, header_end - 1)).cache().left_out == 4U);
}

BOOST_AUTO_TEST_CASE(a_header_alone_is_no_cache)
{
    CacheImage image;
    image.extensions = false;
    for (const CacheForm form : {CacheForm::New, CacheForm::Old}) {
        BOOST_TEST(why(image.bytes(form)) == cut_short);
        BOOST_TEST(why(image.bytes(form) + '\0').empty());
    }
    BOOST_TEST(why("glibc-ld.so.cache1.1") == cut_short);
    BOOST_TEST(why("ld.so-1.7.0") == cut_short);
}

BOOST_AUTO_TEST_CASE(the_byte_order_must_be_little_or_unknown)
{
    CacheImage image = make_image();
    for (const std::uint32_t order : {1U, 3U, 4U, 5U, 7U, 0xFFU}) {
        image.byte_order = order;
        for (const CacheForm form : every_new_form)
            BOOST_TEST(why(image.bytes(form)) == byte_order);
    }
    for (const std::uint32_t order : {0U, 2U, 6U, 0xFEU, 0x300U}) { // the bytes above are padding
        image.byte_order = order;
        BOOST_TEST(why(image.bytes()).empty());
    }
}

BOOST_AUTO_TEST_CASE(there_are_not_more_entries_than_fit)
{
    CacheImage image;
    image.extensions = false;
    image.entries.resize(4); // 8 bytes of strings
    for (const CacheForm form : {CacheForm::New, CacheForm::Old}) {
        const size_t count = form == CacheForm::New ? 20 : 12;
        const size_t each = form == CacheForm::New ? 24 : 12;
        const std::string bytes = image.bytes(form) + std::string(each - 8, '\0'); // room for just one more
        for (const std::uint32_t entries : {0U, 4U, 5U}) {
            std::string changed = bytes;
            patch(changed, count, entries);
            BOOST_TEST(why(changed).empty());
        }
        // 0x0AAAAAAB * 24 and 0x15555556 * 12 are 8 in 32 bits.
        for (const std::uint32_t entries :
             {6U, 0x0AAAAAABU, 0x15555556U, 0x7FFFFFFFU, 0x80000000U, 0xFFFFFFFFU}) {
            std::string changed = bytes;
            patch(changed, count, entries);
            BOOST_TEST(why(changed) == too_many);
        }
        std::string shorter = bytes.substr(0, bytes.size() - 1);
        patch(shorter, count, std::uint32_t{5});
        BOOST_TEST(why(shorter) == too_many);
    }
    const size_t embedded = image.new_at(CacheForm::OldWithNew);
    std::string bytes = image.bytes(CacheForm::OldWithNew);
    patch(bytes, embedded + 20, std::uint32_t{5});
    BOOST_TEST(why(bytes) == too_many);
}

BOOST_AUTO_TEST_CASE(strings_lie_in_the_file_and_end_there)
{
    CacheImage image = make_image();
    image.extensions = false;
    image.entries.erase(image.entries.begin(), image.entries.begin() + 2);
    image.hwcaps.clear();
    const auto size = static_cast<std::uint32_t>(image.bytes().size());
    for (const size_t field : {4U, 8U}) {
        const size_t at = image.entry_at(1) + field;
        for (const std::uint32_t offset : {size, size + 1, 0x80000000U, 0xFFFFFFFFU}) {
            const Parsed parsed(patched(image, at, offset));
            BOOST_TEST(parsed.cache().left_out == 1U);
            BOOST_TEST(parsed.cache().entries.size() == 1U);
        }
        const Parsed last(patched(image, at, size - 1));
        BOOST_REQUIRE(last.cache().entries.size() == 2U);
        const LdCacheEntry &entry = last.cache().entries[1];
        BOOST_TEST((field == 4 ? entry.name : entry.path).empty());
    }
    std::string bytes = image.bytes();
    bytes.back() = 'x'; // was the NUL of the last path
    BOOST_TEST(Parsed(bytes).cache().left_out == 1U);
}

BOOST_AUTO_TEST_CASE(the_strings_of_an_old_form_alone_count_from_its_end)
{
    const CacheImage image = make_image();
    std::string bytes = image.bytes(CacheForm::Old);
    const size_t strings = image.entry_at(4, CacheForm::Old);
    patch(bytes, image.entry_at(0, CacheForm::Old) + 4,
          static_cast<std::uint32_t>(bytes.size() - strings - 1));
    patch(bytes, image.entry_at(1, CacheForm::Old) + 4, static_cast<std::uint32_t>(bytes.size() - strings));
    const Parsed parsed(bytes);
    BOOST_TEST(parsed.cache().left_out == 1U);
    BOOST_TEST(parsed.cache().entries[0].name.empty());
}

BOOST_AUTO_TEST_CASE(names_and_paths_are_as_long_as_they_can_be_in_a_filesystem)
{
    const std::string path = "/" + std::string(4094, 'p');
    const std::string name(255, 'n');
    CacheImage image;
    image.entries = {{name, path}, {name + "n", path}, {name, path + "p"}};
    for (const CacheForm form : {CacheForm::New, CacheForm::Old, CacheForm::OldWithNew}) {
        const Parsed parsed(image.bytes(form));
        BOOST_TEST(parsed.cache().left_out == 2U);
        BOOST_REQUIRE(parsed.cache().entries.size() == 1U);
        BOOST_TEST(parsed.cache().entries[0].name == name);
        BOOST_TEST(parsed.cache().entries[0].path == path);
    }
}

BOOST_AUTO_TEST_CASE(a_cache_cut_short_anywhere_is_survived)
{
    for (const CacheForm form :
         {CacheForm::New, CacheForm::Old, CacheForm::OldWithNew, CacheForm::OldWithNewX86}) {
        const std::string bytes = make_image().bytes(form);
        for (size_t size = 0; size < bytes.size(); size++) {
            const Parsed parsed(bytes.substr(0, size));
            BOOST_TEST(parsed.is_sound());
            BOOST_TEST(
                (!parsed.why().empty() || parsed.cache().entries.size() + parsed.cache().left_out == 4));
        }
    }
}

BOOST_AUTO_TEST_CASE(any_damaged_byte_is_survived)
{
    for (const CacheForm form :
         {CacheForm::New, CacheForm::Old, CacheForm::OldWithNew, CacheForm::OldWithNewX86}) {
        const std::string bytes = make_image().bytes(form);
        for (size_t at = 0; at < bytes.size(); at++) {
            for (unsigned bit = 0; bit < 8; bit++) {
                std::string damaged = bytes;
                damaged[at] = static_cast<char>(static_cast<unsigned char>(damaged[at]) ^ (1U << bit));
                BOOST_TEST(Parsed(damaged).is_sound());
            }
        }
    }
}

BOOST_AUTO_TEST_SUITE_END()
