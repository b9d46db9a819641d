// SPDX-License-Identifier: Apache-2.0
#include "base/sha256.h"

#include <sha2.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace ogh {

std::string sha256_of(std::string_view text)
{
    std::string hash(SHA256_DIGEST_STRING_LENGTH, '\0');
    ::SHA256Data(reinterpret_cast<const std::uint8_t *>(text.data()), text.size(), hash.data());
    hash.pop_back(); // the NUL
    return hash;
}

bool is_same_hash(const std::string &one, const std::string &other)
{
    size_t difference = one.size() ^ other.size();
    for (size_t i = 0; i < std::min(one.size(), other.size()); ++i)
        difference |= static_cast<unsigned char>(one[i] ^ other[i]);
    return difference == 0;
}

} // namespace ogh
