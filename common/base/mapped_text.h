// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace ogh {

/**
 * What a plain file says that is never written again, only replaced: without a copy of it where the kernel lets this process
 * map it. To shorten the file meanwhile ends this process (SIGBUS).
 */
class MappedText final {
public:
    /** Of no file: it says nothing. */
    MappedText() = default;

    /** @param fd need not stay open; @param what names it. @throws Error if it has more than `limit` bytes; SystemError */
    MappedText(int fd, size_t limit, const std::string &what);
    MappedText(const MappedText &) = delete;
    MappedText &operator=(const MappedText &) = delete;
    ~MappedText();

    /** As long as this object. */
    [[nodiscard]] std::string_view view() const { return is_mapped_ ? mapped_ : copy_; }

private:
    bool is_mapped_ = false;
    std::string_view mapped_;
    std::string copy_;
};

} // namespace ogh
