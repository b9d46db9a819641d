// SPDX-License-Identifier: Apache-2.0
#include "loader/elf_dynamic.h"

#include <elf.h>

#include <algorithm>
#include <iterator>
#include <string_view>

namespace ogh {

namespace {

/** A dynamic section has an entry for each library that is needed; the largest known have fewer than 150. */
constexpr size_t dynamic_limit = 512;
constexpr size_t dynamic_step = 64; ///< entries read at once

/** Takes in entries until all tags have their values, or the section ends. */
class Scan final {
public:
    explicit Scan(std::span<const std::uint64_t> tags) : tags_(tags), values_(tags.size()) {}

    [[nodiscard]] bool is_complete() const
    {
        return ended_ || std::all_of(values_.begin(), values_.end(),
                                     [](const auto &value) { return value.has_value(); });
    }

    void take(std::uint64_t tag, std::uint64_t value)
    {
        ended_ = tag == DT_NULL;
        const auto place = std::find(tags_.begin(), tags_.end(), tag);
        if (place == tags_.end())
            return;
        auto &known = values_[static_cast<size_t>(std::distance(tags_.begin(), place))];
        if (!known)
            known = value;
    }

    [[nodiscard]] std::vector<std::optional<std::uint64_t>> values() && { return std::move(values_); }

private:
    std::span<const std::uint64_t> tags_;
    std::vector<std::optional<std::uint64_t>> values_;
    bool ended_ = false;
};

} // namespace

std::vector<std::optional<std::uint64_t>> read_dynamic(const ElfFile &file,
                                                       std::span<const std::uint64_t> tags)
{
    const auto &segments = file.segments();
    const auto segment = std::find_if(segments.begin(), segments.end(),
                                      [](const ElfSegment &each) { return each.type == PT_DYNAMIC; });
    if (segment == segments.end())
        refuse_library("it has no dynamic section");
    const size_t each = 2 * file.address_size();
    const std::uint64_t count = segment->size / each;
    Scan scan(tags);
    for (std::uint64_t done = 0; done < count && !scan.is_complete(); done += dynamic_step) {
        if (done >= dynamic_limit)
            refuse_library("its dynamic section is too long");
        const size_t size = std::min<std::uint64_t>(dynamic_step, count - done) * each;
        const std::uint64_t offset =
            segment->offset + done * each; // cannot wrap: the first part has been read
        const std::string bytes = file.read(offset, size);
        if (bytes.size() < size)
            refuse_library("it is cut short");
        for (size_t at = 0; at < size && !scan.is_complete(); at += each)
            scan.take(file.address_at(bytes, at), file.address_at(bytes, at + file.address_size()));
    }
    return std::move(scan).values();
}

} // namespace ogh
