// SPDX-License-Identifier: Apache-2.0
#include "base/sha256.h"

#include <sha2.h>

#include <cstddef>
#include <tuple>

namespace ogh {

static_assert(std::tuple_size<Sha256>() == SHA256_DIGEST_LENGTH);

Sha256 sha256(std::string_view text)
{
    SHA2_CTX context{};
    ::SHA256Init(&context);
    ::SHA256Update(&context, reinterpret_cast<const std::uint8_t *>(text.data()), text.size());
    Sha256 hash{};
    ::SHA256Final(hash.data(), &context);
    return hash;
}

bool is_same_hash(const Sha256 &one, const Sha256 &other)
{
    unsigned difference = 0;
    for (size_t i = 0; i < one.size(); ++i)
        difference |= static_cast<unsigned>(one[i] ^ other[i]);
    return difference == 0;
}

} // namespace ogh
