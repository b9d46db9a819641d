// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <optional>
#include <stdexcept>

#include <boost/test/unit_test.hpp>

#include "libraries/merged_cache.h"
#include "support/elf_image.h"
#include "support/ld_cache_image.h"

BOOST_AUTO_TEST_SUITE(merged_cache)

using namespace ogh;
using ogh::test::CacheForm;
using ogh::test::CacheImage;
using ogh::test::patch;

namespace {

const std::vector<std::string> directories = {"/opt/gpu", "/opt/more"};

LdCache parse(const std::string &bytes)
{
    const auto result = parse_ld_cache(bytes);
    if (const auto *problem = std::get_if<NoLdCache>(&result))
        throw std::runtime_error(problem->why);
    return std::get<LdCache>(result);
}

/** Merges, and tries that it is a fixed point, and that the lengths in the result are right. */
std::string merge(const std::string &image, const std::vector<AddedLibrary> &added)
{
    const LdCache cache = parse(image);
    std::string merged = ogh::merged_cache(&cache, directories, added);
    const LdCache again = parse(merged);
    BOOST_TEST(again.left_out == 0U);
    BOOST_TEST((ogh::merged_cache(&again, directories, added) == merged));
    size_t added_size = 0;
    for (const AddedLibrary &library : added)
        added_size += 24 + 4 + library.name.size() + library.path.size() + library.subdirectory.size() + 3;
    BOOST_TEST(merged.size() <= 2 * image.size() + added_size + 128);
    return merged;
}

std::string describe(const std::string &merged)
{
    std::string text;
    for (const LdCacheEntry &entry : parse(merged).entries) {
        text += text.empty() ? "" : " ";
        text += entry.path;
        if (!entry.subdirectory.empty())
            text += "[" + std::string(entry.subdirectory) + "]";
    }
    return text;
}

AddedLibrary library(const std::string &name, const std::string &directory = "/opt/gpu",
                     std::int32_t flags = 0x0303)
{
    return {name, directory + "/" + name, flags, 0, ""};
}

AddedLibrary below_hwcaps(const std::string &name, const std::string &subdirectory)
{
    return {name, "/opt/gpu/glibc-hwcaps/" + subdirectory + "/" + name, 0x0303, 0, subdirectory};
}

/** Sorted, as ldconfig would leave it. */
CacheImage make_image()
{
    CacheImage image;
    image.entries = {
        {"libz.so.1", "/h/v3/libz.so.1.2", 0x0303, 0, CacheImage::below_hwcaps(1, 3)},
        {"libz.so.1", "/lib/tls/libz.so.1", 0x0303, 0, std::uint64_t{1} << 63U},
        {"libz.so.1", "/lib/libz.so.1", 0x0303, 0x00030200, 0},
        {"libz.so.1", "/lib32/libz.so.1", 0x0003, 0, 0},
        {"libc.so.6", "/lib/libc.so.6", 0x0303, 0x00030200, 0},
    };
    image.hwcaps = {"x86-64-v2", "x86-64-v3"};
    return image;
}

} // namespace

BOOST_AUTO_TEST_CASE(without_a_cache_the_added_libraries_make_one)
{
    const std::vector<AddedLibrary> added = {library("liba.so.1"), library("libb.so.2"),
                                             below_hwcaps("libb.so.2", "x86-64-v2")};
    const std::string bytes = ogh::merged_cache(nullptr, directories, added);
    BOOST_TEST(describe(bytes) == "/opt/gpu/glibc-hwcaps/x86-64-v2/libb.so.2[x86-64-v2] "
                                  "/opt/gpu/libb.so.2 /opt/gpu/liba.so.1");
    BOOST_TEST(parse(bytes).has_extensions);
    const LdCache again = parse(bytes);
    BOOST_TEST((ogh::merged_cache(&again, directories, added) == bytes));
}

BOOST_AUTO_TEST_CASE(the_bytes_are_those_of_the_format)
{
    const std::string bytes = ogh::merged_cache(
        nullptr, {},
        {{"liba.so.1", "/d/liba.so.1", 0x0303, 0x00030200, ""}, {"b", "/d/libb", 0x0A03, 1, "v2"}});
    using namespace std::string_literals;
    const std::string expected = "glibc-ld.so.cache1.1"
                                 "\x02\0\0\0\x1a\0\0\0\x02\0\0\0\x7c\0\0\0"
                                 "\0\0\0\0\0\0\0\0\0\0\0\0"
                                 "\x03\x03\0\0\x63\0\0\0\x60\0\0\0\0\x02\x03\0\0\0\0\0\0\0\0\0"
                                 "\x03\x0a\0\0\x75\0\0\0\x6d\0\0\0\x01\0\0\0\0\0\0\0\0\0\0\x40"
                                 "/d/liba.so.1\0/d/libb\0b\0v2\0\0\0"
                                 "\x74\x21\xa4\xea\x02\0\0\0"
                                 "\0\0\0\0\0\0\0\0\xa8\0\0\0\x0d\0\0\0"
                                 "\x01\0\0\0\0\0\0\0\xa4\0\0\0\x04\0\0\0"
                                 "\x77\0\0\0oci-gpu-hooks"s;
    BOOST_TEST(bytes == expected);
}

BOOST_AUTO_TEST_CASE(added_libraries_go_before_their_equals)
{
    BOOST_TEST(
        describe(
            merge(make_image().bytes(), {library("libz.so.1"), library("libc.so.6"), library("libq.so")})) ==
        "/h/v3/libz.so.1.2[x86-64-v3] /lib/tls/libz.so.1 /opt/gpu/libz.so.1 /lib/libz.so.1 /lib32/libz.so.1 "
        "/opt/gpu/libq.so /opt/gpu/libc.so.6 /lib/libc.so.6");
    // Of 32 bits, and for an older OS.
    BOOST_TEST(
        describe(merge(make_image().bytes(), {library("libz.so.1", "/opt/gpu", 0x0003)})) ==
        "/h/v3/libz.so.1.2[x86-64-v3] /lib/tls/libz.so.1 /lib/libz.so.1 /opt/gpu/libz.so.1 /lib32/libz.so.1 "
        "/lib/libc.so.6");
}

BOOST_AUTO_TEST_CASE(added_libraries_below_hwcaps_go_by_their_subdirectory)
{
    BOOST_TEST(describe(merge(make_image().bytes(),
                              {below_hwcaps("libz.so.1", "x86-64-v4"), below_hwcaps("libz.so.1", "x86-64-v3"),
                               below_hwcaps("libz.so.1", "a")})) ==
               "/opt/gpu/glibc-hwcaps/a/libz.so.1[a] /opt/gpu/glibc-hwcaps/x86-64-v3/libz.so.1[x86-64-v3] "
               "/h/v3/libz.so.1.2[x86-64-v3] /opt/gpu/glibc-hwcaps/x86-64-v4/libz.so.1[x86-64-v4] "
               "/lib/tls/libz.so.1 /lib/libz.so.1 /lib32/libz.so.1 /lib/libc.so.6");
}

BOOST_AUTO_TEST_CASE(the_images_entries_are_kept_as_they_are)
{
    const std::string image = make_image().bytes();
    BOOST_TEST((parse(merge(image, {})).entries == parse(image).entries));
    const std::string merged =
        merge(image, {below_hwcaps("liba.so", "a"), below_hwcaps("liba.so", "x86-64-v3")});
    std::vector<LdCacheEntry> kept = parse(merged).entries;
    kept.erase(
        std::remove_if(kept.begin(), kept.end(), [](const auto &entry) { return entry.name == "liba.so"; }),
        kept.end());
    BOOST_TEST((kept == parse(image).entries));
}

BOOST_AUTO_TEST_CASE(old_entries_of_the_directories_go)
{
    CacheImage image;
    image.hwcaps = {"v2"};
    const std::uint64_t hwcap = CacheImage::below_hwcaps(0);
    image.entries = {{"libq.so", "/opt/more/glibc-hwcaps/v2/libq.so", 0x0303, 0, hwcap},
                     {"libo.so", "/opt/more/glibc-hwcaps/libo.so"},
                     {"libn.so", "/opt/gpu/libn.so"},
                     {"libm.so", "/opt/more/libm.so"},
                     {"libl.so", "/opt/gpu/glibc-hwcaps"},
                     {"libk.so", "/opt/gpu/"},
                     {"libi.so", "/opt/gpu/glibc-hwcapsx/v2/libi.so"},
                     {"libh.so", "/opt/gpu/sub/libh.so"},
                     {"libg.so", "/opt/gpus/libg.so"},
                     {"libf.so", "/opt/gpulibf.so"},
                     {"libe.so", "/opt/libe.so"},
                     {"libd.so", "/opt/gpu"},
                     {"libc.so", "opt/gpu/libc.so"},
                     {"libb.so", "/x/opt/gpu/libb.so"},
                     {"liba.so", ""}};
    BOOST_TEST(describe(merge(image.bytes(), {})) == "/opt/gpu/glibc-hwcapsx/v2/libi.so /opt/gpu/sub/libh.so "
                                                     "/opt/gpus/libg.so /opt/gpulibf.so /opt/libe.so "
                                                     "/opt/gpu opt/gpu/libc.so /x/opt/gpu/libb.so ");
}

BOOST_AUTO_TEST_CASE(every_form_gives_the_same)
{
    const std::string expected = merge(make_image().bytes(), {library("libc.so.6")});
    BOOST_TEST((merge(make_image().bytes(CacheForm::OldWithNew), {library("libc.so.6")}) == expected));
    BOOST_TEST((merge(make_image().bytes(CacheForm::OldWithNewX86), {library("libc.so.6")}) == expected));
}

BOOST_AUTO_TEST_CASE(a_cache_from_before_extensions_stays_so)
{
    CacheImage image = make_image();
    image.extensions = false;
    image.byte_order = 0;
    image.entries.erase(image.entries.begin());
    for (const CacheForm form : {CacheForm::New, CacheForm::Old}) {
        const std::string merged = merge(image.bytes(form), {library("libz.so.1")});
        BOOST_TEST(!parse(merged).has_extensions);
        BOOST_TEST(describe(merged) ==
                   (form == CacheForm::New
                        ? "/lib/tls/libz.so.1 /opt/gpu/libz.so.1 /lib/libz.so.1 /lib32/libz.so.1 "
                          "/lib/libc.so.6"
                        : "/opt/gpu/libz.so.1 /lib/tls/libz.so.1 /lib/libz.so.1 /lib32/libz.so.1 "
                          "/lib/libc.so.6"));
        BOOST_TEST(parse(merge(image.bytes(form), {below_hwcaps("liba.so", "v2")})).has_extensions);
    }
}

BOOST_AUTO_TEST_CASE(a_cache_of_nothing_can_be_read_again)
{
    BOOST_TEST(describe(ogh::merged_cache(nullptr, {}, {})).empty());
    CacheImage image;
    image.entries = {{"liba.so", "/opt/gpu/liba.so"}};
    for (const bool extensions : {true, false}) {
        image.extensions = extensions;
        const std::string merged = merge(image.bytes(), {});
        BOOST_TEST(parse(merged).entries.empty());
        BOOST_TEST(parse(merged).has_extensions == extensions);
    }
}

BOOST_AUTO_TEST_CASE(a_cache_that_is_not_sorted_becomes_so)
{
    CacheImage image = make_image();
    std::reverse(image.entries.begin(), image.entries.end());
    const CacheImage sorted = make_image();
    BOOST_TEST((parse(merge(image.bytes(), {})).entries == parse(sorted.bytes()).entries));
}

BOOST_AUTO_TEST_CASE(equal_entries_stay_in_their_order)
{
    CacheImage image;
    image.entries = {{"lib1.so", "/b/lib1.so"}, {"lib01.so", "/a/lib01.so"}, {"lib1.so", "/c/lib1.so"}};
    BOOST_TEST(describe(merge(image.bytes(), {library("lib001.so")})) ==
               "/opt/gpu/lib001.so /b/lib1.so /a/lib01.so /c/lib1.so");
}

BOOST_AUTO_TEST_CASE(equal_entries_stay_in_their_order_when_others_are_sorted)
{
    CacheImage image;
    for (int i = 0; i < 100; i++)
        image.entries.push_back({i % 2 == 0 ? "lib1.so" : "lib01.so", "/" + std::to_string(i)});
    image.entries.push_back({"lib2.so", "/first"});
    std::string expected = "/first";
    for (int i = 0; i < 100; i++)
        expected += " /" + std::to_string(i);
    BOOST_TEST(describe(merge(image.bytes(), {})) == expected);
}

BOOST_AUTO_TEST_CASE(a_hwcaps_name_stands_once_in_its_section)
{
    const std::string bytes = ogh::merged_cache(
        nullptr, {},
        {below_hwcaps("liba.so", "v2"), below_hwcaps("libb.so", "v2"), below_hwcaps("libc.so", "v3")});
    const size_t extensions = load_little_endian<std::uint32_t>(bytes, 32);
    BOOST_TEST(load_little_endian<std::uint32_t>(bytes, extensions + 8 + 16 + 12) == 8U);
    BOOST_TEST(parse(bytes).entries.size() == 3U);
}

BOOST_AUTO_TEST_CASE(the_order_is_that_of_the_machine_of_the_entries)
{
    CacheImage image;
    image.entries = {{"libx", "/lib/libx"}, {"lib\xff", "/lib/lib\xff"}};
    BOOST_TEST(describe(merge(image.bytes(), {})) == "/lib/libx /lib/lib\xff");
    BOOST_TEST(describe(merge(image.bytes(), {library("liba", "/opt/gpu", 0x0A03)})) ==
               "/lib/lib\xff /lib/libx /opt/gpu/liba");
    image.entries.push_back({"lib", "/lib/lib", 0x0503});
    BOOST_TEST(describe(merge(image.bytes(), {})) == "/lib/lib\xff /lib/libx /lib/lib");
    // What goes does not count.
    image.entries.back().path = "/opt/gpu/lib";
    BOOST_TEST(describe(merge(image.bytes(), {})) == "/lib/libx /lib/lib\xff");
}

BOOST_AUTO_TEST_CASE(a_name_is_the_tail_of_its_path)
{
    const std::string bytes =
        merge(make_image().bytes(), {library("liba.so"), {"libb.so", "/opt/gpu/xlibb.so", 0x0303, 0, ""}});
    BOOST_TEST(bytes.find("liba.so") == bytes.rfind("liba.so"));
    BOOST_TEST(bytes.find("libb.so") + 1 + 7 == bytes.rfind("libb.so")); // of another file
    BOOST_TEST(bytes.find("x86-64-v3") == bytes.rfind("x86-64-v3"));
    BOOST_TEST(bytes.find("x86-64-v2") == std::string::npos); // nobody needs it any more
}

BOOST_AUTO_TEST_CASE(strings_that_overlap_do_not_make_the_result_grow)
{
    CacheImage image;
    image.extensions = false;
    image.entries.resize(1000, {"", ""});
    image.entries.push_back({"n", "/" + std::string(4000, 'p')});
    std::string bytes = image.bytes();
    const size_t path = bytes.size() - 4002;
    for (size_t i = 0; i < 1000; i++) {
        patch(bytes, image.entry_at(i) + 4, static_cast<std::uint32_t>(bytes.size() - 200 + i % 200));
        patch(bytes, image.entry_at(i) + 8, static_cast<std::uint32_t>(path + (i * 7) % 4000));
    }
    const std::string merged = merge(bytes, {});
    BOOST_TEST(merged.size() < bytes.size());
    BOOST_TEST(parse(merged).entries.size() == 1001U);
}

BOOST_AUTO_TEST_CASE(hwcaps_names_that_overlap_do_not_make_the_result_grow)
{
    CacheImage image;
    image.hwcaps.resize(200, "");
    image.hwcaps.emplace_back(201, 'v');
    for (size_t i = 0; i < 200; i++)
        image.entries.push_back({"n", "/n", 0x0303, 0, CacheImage::below_hwcaps(i)});
    std::string bytes = image.bytes();
    const auto last = load_little_endian<std::uint32_t>(bytes, image.hwcaps_at() + 800);
    for (std::uint32_t i = 0; i < 200; i++)
        patch(bytes, image.hwcaps_at() + size_t{4} * i, last + i);
    const LdCache cache = parse(bytes);
    BOOST_TEST(cache.left_out == 0U);
    const std::string merged = merge(bytes, {});
    BOOST_TEST(merged.size() < bytes.size());
    BOOST_TEST(parse(merged).entries.size() == 200U);
}

BOOST_AUTO_TEST_SUITE_END()
