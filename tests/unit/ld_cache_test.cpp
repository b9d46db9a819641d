// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <memory>
#include <stdexcept>

#include <boost/test/unit_test.hpp>

#include "ld_cache.h"
#include "support/elf_image.h"
#include "support/ld_cache_image.h"

using namespace ogh;
using ogh::test::CacheForm;
using ogh::test::CacheImage;
using ogh::test::patch;

namespace {

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
        const char *end = bytes_.get() + size_;
        return view.data() >= bytes_.get() && view.data() < end &&
               view.size() < static_cast<size_t>(end - view.data()) && view.data()[view.size()] == '\0';
    }

    [[nodiscard]] bool is_sound() const
    {
        return !why().empty() ||
               std::all_of(cache().entries.begin(), cache().entries.end(), [&](const auto &entry) {
                   return is_inside(entry.name) && is_inside(entry.path) &&
                          (entry.subfolder.empty() || is_inside(entry.subfolder));
               });
    }

private:
    size_t size_;
    std::unique_ptr<char[]> bytes_; // NOLINT(modernize-avoid-c-arrays): as above
    std::variant<LdCache, NoLdCache> result_;
};

std::string why(const std::string &bytes)
{
    return Parsed(bytes).why();
}

CacheImage make_image()
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

constexpr CacheForm every_new_form[] = {
    CacheForm::New, CacheForm::OldWithNew,
    CacheForm::OldWithNewX86}; // NOLINT(modernize-avoid-c-arrays): shorter

constexpr const char *no_cache = "it is no cache that glibc has written";
constexpr const char *cut_short = "it is cut short";
constexpr const char *too_many = "it has more entries than would fit into it";
constexpr const char *byte_order = "it is for machines of another byte order";

template<typename Number> std::string patched(const CacheImage &image, size_t at, Number number)
{
    std::string bytes = image.bytes();
    patch(bytes, at, number);
    return bytes;
}

std::uint32_t word_at(const std::string &bytes, size_t at)
{
    return load_little_endian<std::uint32_t>(bytes, at);
}

/** The names below glibc-hwcaps of all entries that are read. */
std::string subfolders(const std::string &bytes)
{
    const Parsed parsed(bytes);
    std::string names = parsed.cache().has_extensions ? "" : "no extensions";
    for (const LdCacheEntry &entry : parsed.cache().entries)
        names += entry.subfolder.empty() ? "" : std::string(entry.subfolder) + " ";
    return names;
}

} // namespace

BOOST_AUTO_TEST_SUITE(ld_cache)

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

BOOST_AUTO_TEST_CASE(hwcaps_with_other_bits_are_those_of_older_times)
{
    CacheImage image = make_image();
    for (const unsigned bit : {42U, 61U, 63U}) {
        const std::uint64_t hwcap = CacheImage::below_hwcaps(1) | std::uint64_t{1} << bit;
        image.entries[0].hwcap = hwcap;
        const Parsed parsed(image.bytes());
        BOOST_TEST(parsed.cache().entries[0].hwcap == hwcap);
        BOOST_TEST(parsed.cache().entries[0].subfolder.empty());
    }
    image.entries[0].hwcap = CacheImage::below_hwcaps(1, 0x3FF);
    const Parsed highest(image.bytes());
    BOOST_TEST(highest.cache().entries[0].hwcap == std::uint64_t{0x3FF} << 32U);
    BOOST_TEST(highest.cache().entries[0].subfolder == "x86-64-v3");
}

BOOST_AUTO_TEST_CASE(an_entry_with_a_number_beyond_the_hwcaps_is_left_out)
{
    CacheImage image = make_image();
    for (const std::uint64_t index : {2U, 3U, 0x80000000U, 0xFFFFFFFFU}) {
        image.entries[0].hwcap = CacheImage::below_hwcaps(index);
        const Parsed parsed(image.bytes());
        BOOST_TEST(parsed.cache().left_out == 1U);
        BOOST_TEST(parsed.cache().entries[0].subfolder == "x86-64-v2");
    }
}

BOOST_AUTO_TEST_CASE(broken_extensions_are_none)
{
    const CacheImage image = make_image();
    const auto size = static_cast<std::uint32_t>(image.bytes().size());
    const auto extensions = static_cast<std::uint32_t>(image.extensions_at());
    const std::string none = "no extensions";
    BOOST_TEST(subfolders(image.bytes()) == "x86-64-v3 x86-64-v2 ");
    for (const std::uint32_t offset : {0U, extensions + 1, extensions + 2, extensions + 4, extensions - 4,
                                       size / 4 * 4, size / 4 * 4 - 4, 0x80000000U, 0xFFFFFFFCU, 0xFFFFFFFFU})
        BOOST_TEST(subfolders(patched(image, 32, offset)) == none);
    for (size_t at = 0; at < 4; at++)
        BOOST_TEST(subfolders(patched(image, extensions + at, std::uint8_t{0x75})) == none);
    // 0x10000001 sections have 16 bytes in 32 bits.
    for (const std::uint32_t count : {7U, 0x10000001U, 0x10000002U, 0xFFFFFFFFU})
        BOOST_TEST(subfolders(patched(image, extensions + 4, count)) == none);
    BOOST_TEST(subfolders(patched(image, extensions + 4, std::uint32_t{1})).empty()); // the generator alone
    BOOST_TEST(subfolders(patched(image, extensions + 4, std::uint32_t{0})).empty());
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

BOOST_AUTO_TEST_CASE(a_section_outside_of_the_file_breaks_the_extensions)
{
    const CacheImage image = make_image();
    const std::string bytes = image.bytes();
    const auto size = static_cast<std::uint32_t>(bytes.size());
    for (const size_t section : {image.section_at(0), image.section_at(1)}) {
        const std::uint32_t rest = size - word_at(bytes, section + 8);
        BOOST_TEST(subfolders(patched(image, section + 12, rest / 4 * 4)) != "no extensions");
        for (const std::uint32_t length : {rest + 1, 0x7FFFFFFFU, 0xFFFFFFFCU, 0xFFFFFFFFU})
            BOOST_TEST(subfolders(patched(image, section + 12, length)) == "no extensions");
        for (const std::uint32_t offset : {size - 4, size + 4, 0x80000000U, 0xFFFFFFF8U, 0xFFFFFFFCU})
            BOOST_TEST(subfolders(patched(image, section + 8, offset)) == "no extensions");
    }
}

BOOST_AUTO_TEST_CASE(a_hwcaps_section_that_is_not_aligned_is_none)
{
    const CacheImage image = make_image();
    const size_t section = image.section_at(1);
    const std::uint32_t offset = word_at(image.bytes(), section + 8);
    BOOST_TEST(subfolders(patched(image, section + 8, offset + 2)).empty());
    BOOST_TEST(subfolders(patched(image, section + 12, std::uint32_t{6})).empty());
    BOOST_TEST(subfolders(patched(image, section + 12, std::uint32_t{0})).empty());
    BOOST_TEST(subfolders(patched(image, section + 12, std::uint32_t{4})) == "x86-64-v2 ");
    BOOST_TEST(
        subfolders(patched(image, section, std::uint32_t{4711})).empty()); // of a kind that is not known
}

BOOST_AUTO_TEST_CASE(the_last_hwcaps_section_counts)
{
    const CacheImage image = make_image();
    std::string bytes = image.bytes();
    patch(bytes, image.section_at(0), std::uint32_t{1});
    BOOST_TEST(subfolders(bytes) == "x86-64-v3 x86-64-v2 ");
    patch(bytes, image.section_at(1) + 12, std::uint32_t{0});
    BOOST_TEST(subfolders(bytes).empty());
}

BOOST_AUTO_TEST_CASE(names_of_hwcaps_lie_in_the_file)
{
    const CacheImage image = make_image();
    const auto size = static_cast<std::uint32_t>(image.bytes().size());
    // The file ends with the generator's name, which has no NUL.
    for (const std::uint32_t offset : {size, size - 1, size - 9, 0xFFFFFFFFU})
        BOOST_TEST(subfolders(patched(image, image.hwcaps_at() + 4, offset)) == "x86-64-v2 ");
    CacheImage longer = image;
    longer.hwcaps[1] = std::string(255, 'v');
    BOOST_TEST(subfolders(longer.bytes()) == longer.hwcaps[1] + " x86-64-v2 ");
    longer.hwcaps[1] += 'v';
    BOOST_TEST(subfolders(longer.bytes()) == "x86-64-v2 ");
    longer.hwcaps[1] = "";
    BOOST_TEST(subfolders(longer.bytes()) == "x86-64-v2 ");
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
