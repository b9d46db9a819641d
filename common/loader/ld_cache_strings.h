// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ogh {

/**
 * The strings of a cache that is to be written. Strings that end at the same byte of memory, as the views into a
 * parsed cache do if they shared bytes there, are written once: the longest, of which the others are the tail. So a
 * hostile cache, whose entries may all name parts of one long string, does not grow.
 *
 * Works in two steps: add() all, then offset() and write(). The views must stay valid.
 */
class LdCacheStrings final {
public:
    /** @param expected about how many different strings there will be */
    explicit LdCacheStrings(size_t expected);

    void add(std::string_view text);

    /** How long they are together, each with its NUL. */
    [[nodiscard]] std::uint64_t size() const { return size_; }

    /** Gives each string its place, in the order in which they were added first. To be called once, after all add(). */
    void place();

    /** Where the string begins, from the first one's beginning; it has been added. */
    [[nodiscard]] std::uint32_t offset(std::string_view text) const;

    void write(std::string &bytes) const;

private:
    struct Text {
        const char *end;
        size_t length;
        std::uint32_t offset;
    };

    /** The slot in which the text with this end is or would be. */
    [[nodiscard]] size_t slot_of(const char *end) const;
    void grow();

    std::vector<Text> texts_;
    std::vector<std::uint32_t>
        slots_; ///< hash table with open addressing: 1 + the number of the text; 0: free
    std::uint64_t size_ = 0;
};

} // namespace ogh
