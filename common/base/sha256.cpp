// SPDX-License-Identifier: Apache-2.0
#include "base/sha256.h"

#include <bit>
#include <cstddef>
#include <string>

namespace ogh {

namespace {

__extension__ using Wide = unsigned __int128;

constexpr size_t rounds = 64;
constexpr size_t block_size = 64;
using State = std::array<std::uint32_t, 8>;

/** The first 64 prime numbers. */
constexpr std::array<std::uint32_t, rounds> primes = [] {
    std::array<std::uint32_t, rounds> found{};
    size_t count = 0;
    for (std::uint32_t number = 2; count < found.size(); ++number) {
        bool is_prime = true;
        for (size_t i = 0; i < count; ++i)
            is_prime = is_prime && number % found.at(i) != 0;
        if (is_prime)
            found.at(count++) = number;
    }
    return found;
}();

/** The first 32 bits behind the point of a number's square root (`power` 2) or cube root (3). */
constexpr std::uint32_t root_fraction(std::uint32_t number, unsigned power)
{
    // The largest x with x to that power at most number * 2^(32 * power): bit after bit from the highest.
    constexpr unsigned highest_bit = 37;
    const Wide limit = Wide{number} << (32 * power);
    std::uint64_t root = 0;
    for (std::uint64_t bit = std::uint64_t{1} << highest_bit; bit != 0; bit >>= 1U) {
        const Wide larger = root | bit;
        if ((power == 2 ? larger * larger : larger * larger * larger) <= limit)
            root |= bit;
    }
    return static_cast<std::uint32_t>(root);
}

/** Section 4.2.2. */
constexpr std::array<std::uint32_t, rounds> round_constants = [] {
    std::array<std::uint32_t, rounds> found{};
    for (size_t i = 0; i < found.size(); ++i)
        found.at(i) = root_fraction(primes.at(i), 3);
    return found;
}();

/** Section 5.3.3. */
constexpr State first_state = [] {
    State found{};
    for (size_t i = 0; i < found.size(); ++i)
        found.at(i) = root_fraction(primes.at(i), 2);
    return found;
}();

std::uint32_t word_at(std::string_view block, size_t place)
{
    std::uint32_t word = 0;
    for (const char c : block.substr(4 * place, 4))
        word = word << 8U | static_cast<std::uint8_t>(c);
    return word;
}

/** Section 6.2.2; the names are the standard's. */
void add_block(State &state, std::string_view block)
{
    std::array<std::uint32_t, rounds> w{};
    for (size_t t = 0; t < 16; ++t)
        w[t] = word_at(block, t);
    for (size_t t = 16; t < rounds; ++t) {
        const std::uint32_t s0 = std::rotr(w[t - 15], 7) ^ std::rotr(w[t - 15], 18) ^ w[t - 15] >> 3U;
        const std::uint32_t s1 = std::rotr(w[t - 2], 17) ^ std::rotr(w[t - 2], 19) ^ w[t - 2] >> 10U;
        w[t] = s1 + w[t - 7] + s0 + w[t - 16];
    }
    auto [a, b, c, d, e, f, g, h] = state;
    for (size_t t = 0; t < rounds; ++t) {
        const std::uint32_t sum1 = std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25);
        const std::uint32_t t1 = h + sum1 + ((e & f) ^ (~e & g)) + round_constants[t] + w[t];
        const std::uint32_t sum0 = std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22);
        const std::uint32_t t2 = sum0 + ((a & b) ^ (a & c) ^ (b & c));
        h = g;
        g = f;
        f = e;
        e = d + t1;
        d = c;
        c = b;
        b = a;
        a = t1 + t2;
    }
    const State more{a, b, c, d, e, f, g, h};
    for (size_t i = 0; i < state.size(); ++i)
        state[i] += more[i];
}

} // namespace

Sha256 sha256(std::string_view text)
{
    // Section 5.1.1: a bit, zeros, and the length in bits, so that the last block is full.
    constexpr size_t length_size = 8;
    std::string padded(text);
    padded += '\x80';
    padded.resize((padded.size() + length_size + block_size - 1) / block_size * block_size - length_size);
    const std::uint64_t bits = std::uint64_t{text.size()} * 8;
    for (size_t i = 0; i < length_size; ++i)
        padded += static_cast<char>(bits >> (8 * (length_size - 1 - i)));

    State state = first_state;
    for (std::string_view rest = padded; !rest.empty(); rest.remove_prefix(block_size))
        add_block(state, rest.substr(0, block_size));

    Sha256 hash{};
    for (size_t i = 0; i < hash.size(); ++i)
        hash[i] = static_cast<std::uint8_t>(state[i / 4] >> (24 - 8 * (i % 4)));
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
