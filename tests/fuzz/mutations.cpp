// SPDX-License-Identifier: Apache-2.0
#include "mutations.h"

#include <algorithm>
#include <array>
#include <random>
#include <string_view>

namespace ogh::fuzz {

using namespace std::string_view_literals;

namespace {

constexpr size_t most_truncations = 128;
constexpr size_t damaged_copies = 256;

/** Bytes that mean something to one of the parsers. */
constexpr std::string_view special =
    "\0\t\n\r \"#'+,-./0129:=[\\]{}\x7f\x80\x9b\xbf\xc0\xc2\xe0\xed\xf4\xff"sv;

// NOLINTNEXTLINE(cert-msc32-c,cert-msc51-cpp): has to be the same in every run
class Dice {
public:
    /** A number below `end`, which is not 0. Not by std::uniform_int_distribution: that differs by library. */
    size_t below(size_t end) { return engine_() % end; }

private:
    std::mt19937 engine_;
};

void damage(std::string &text, Dice &dice)
{
    const size_t at = dice.below(text.size() + 1);
    const size_t length = 1 + dice.below(16);
    const char byte = special[dice.below(special.size())];
    switch (dice.below(6)) {
    case 0:
        text.insert(at, 1, byte);
        break;
    case 1:
        text.replace(at, 1, 1, byte);
        break;
    case 2:
        text.erase(at, length);
        break;
    case 3:
        text.insert(at, text.substr(at, length));
        break;
    case 4:
        text.insert(dice.below(text.size() + 1), text.substr(at, length));
        break;
    default:
        if (at < text.size())
            text[at] = static_cast<char>(static_cast<unsigned char>(text[at]) ^ (1U << dice.below(8)));
    }
}

} // namespace

std::vector<std::string> mutations(const std::string &original, const std::vector<std::string> &others)
{
    std::vector<std::string> results;
    const size_t cuts = std::min(original.size(), most_truncations);
    for (size_t i = 0; i < cuts; ++i)
        results.push_back(original.substr(0, original.size() * i / cuts));
    Dice dice;
    for (size_t i = 0; i < damaged_copies; ++i) {
        std::string copy = original;
        if (i % 8 == 7) {
            const std::string &other = others[dice.below(others.size())];
            copy.resize(dice.below(copy.size() + 1));
            copy += other.substr(dice.below(other.size() + 1));
        }
        for (size_t times = 1 + dice.below(4); times > 0; --times)
            damage(copy, dice);
        results.push_back(copy);
    }
    return results;
}

} // namespace ogh::fuzz
