// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/little_endian.h"

namespace ogh::test {

enum class CacheForm {
    New,
    Old,
    OldWithNew,   ///< as 64-bit machines write it: the new form begins at a multiple of 8
    OldWithNewX86 ///< as i386 does: at a multiple of 4
};

/** The bytes of an ld.so.cache, put together without a line of the code that is to be tested. */
struct CacheImage {
    struct Entry {
        std::string name;
        std::string path;
        std::int32_t flags = 0x0303;
        std::uint32_t os_version = 0;
        std::uint64_t hwcap = 0; ///< as it stands in the file
    };

    std::vector<Entry> entries;
    std::vector<std::string> hwcaps; ///< names of the hwcaps section
    bool extensions = true;
    std::uint32_t byte_order = 2;

    /** hwcap of an entry below glibc-hwcaps. @param index of `hwcaps` */
    static std::uint64_t below_hwcaps(std::uint64_t index, std::uint64_t level = 0)
    {
        return std::uint64_t{1} << 62U | level << 32U | index;
    }

    /** Where the new form begins. */
    [[nodiscard]] size_t new_at(CacheForm form) const
    {
        const size_t old_end = 16 + 12 * entries.size();
        switch (form) {
        case CacheForm::OldWithNew:
            return (old_end + 7) / 8 * 8;
        case CacheForm::OldWithNewX86:
            return old_end;
        default:
            return 0;
        }
    }

    [[nodiscard]] size_t entry_at(size_t number, CacheForm form = CacheForm::New) const
    {
        return form == CacheForm::Old ? 16 + 12 * number : new_at(form) + 48 + 24 * number;
    }

    [[nodiscard]] size_t extensions_at(CacheForm form = CacheForm::New) const
    {
        return (entry_at(entries.size(), form) + strings().size() + 3) / 4 * 4;
    }

    /** Where the section begins: 0 is the generator's, 1 that of hwcaps. */
    [[nodiscard]] size_t section_at(size_t number) const { return extensions_at() + 8 + 16 * number; }
    [[nodiscard]] size_t hwcaps_at(CacheForm form = CacheForm::New) const
    {
        return extensions_at(form) + 8 + 16 + 16;
    }

    [[nodiscard]] std::string bytes(CacheForm form = CacheForm::New) const
    {
        std::string bytes;
        const size_t begin = new_at(form);
        if (form != CacheForm::New)
            put_old(bytes, form);
        bytes.resize(std::max(begin, bytes.size()));
        if (form != CacheForm::Old)
            put_new(bytes, form);
        bytes += strings();
        if (form != CacheForm::Old && extensions)
            put_extensions(bytes, form);
        return bytes;
    }

private:
    [[nodiscard]] std::string strings() const
    {
        std::string strings;
        for (const Entry &entry : entries)
            strings += entry.name + '\0' + entry.path + '\0';
        for (const std::string &name : hwcaps)
            strings += name + '\0';
        return strings;
    }

    static void put(std::string &bytes, std::uint64_t number)
    {
        append_little_endian(bytes, static_cast<std::uint32_t>(number));
    }

    /** Flags, name and path of an entry. `next` is where its strings begin, and becomes where they end. */
    static void put_entry(std::string &bytes, const Entry &entry, size_t &next)
    {
        put(bytes, static_cast<std::uint32_t>(entry.flags));
        put(bytes, next);
        put(bytes, next + entry.name.size() + 1);
        next += entry.name.size() + entry.path.size() + 2;
    }

    void put_old(std::string &bytes, CacheForm form) const
    {
        bytes += std::string("ld.so-1.7.0") + '\0';
        put(bytes, entries.size());
        size_t next = entry_at(entries.size(), form) - (16 + 12 * entries.size());
        for (const Entry &entry : entries)
            put_entry(bytes, entry, next);
    }

    void put_new(std::string &bytes, CacheForm form) const
    {
        bytes += "glibc-ld.so.cache1.1";
        put(bytes, entries.size());
        put(bytes, strings().size());
        put(bytes, byte_order);
        put(bytes, extensions ? extensions_at(form) : 0);
        bytes.append(12, '\0');
        size_t next = entry_at(entries.size(), form) - new_at(form);
        for (const Entry &entry : entries) {
            put_entry(bytes, entry, next);
            put(bytes, entry.os_version);
            append_little_endian(bytes, entry.hwcap);
        }
    }

    void put_extensions(std::string &bytes, CacheForm form) const
    {
        bytes.resize(extensions_at(form));
        put(bytes, 0xEAA42174);
        put(bytes, 2);
        const size_t text = hwcaps_at(form) + 4 * hwcaps.size();
        for (const size_t number : {size_t{0}, size_t{0}, text, size_t{9}})
            put(bytes, number);
        for (const size_t number : {size_t{1}, size_t{0}, hwcaps_at(form), 4 * hwcaps.size()})
            put(bytes, number);
        size_t next = entry_at(entries.size(), form) - new_at(form);
        for (const Entry &entry : entries)
            next += entry.name.size() + entry.path.size() + 2;
        for (const std::string &name : hwcaps) {
            put(bytes, next);
            next += name.size() + 1;
        }
        bytes += "generator";
    }
};

} // namespace ogh::test
