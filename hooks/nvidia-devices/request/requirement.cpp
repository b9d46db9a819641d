// SPDX-License-Identifier: Apache-2.0
#include "nvidia-devices/request/requirement.h"

#include <algorithm>
#include <array>

#include "base/error.h"
#include "base/text.h"

namespace ogh::nvidia_devices {

namespace {

constexpr std::string_view operator_characters = "<>=!";

template<typename Value> struct Word {
    std::string_view text;
    Value value;
};

constexpr std::array<Word<Property>, 4> properties{{{"cuda", Property::Cuda},
                                                    {"driver", Property::Driver},
                                                    {"arch", Property::Arch},
                                                    {"brand", Property::Brand}}};

constexpr std::array<Word<Comparison>, 6> comparisons{{{"=", Comparison::Equal},
                                                       {"!=", Comparison::NotEqual},
                                                       {"<", Comparison::Less},
                                                       {"<=", Comparison::LessOrEqual},
                                                       {">", Comparison::Greater},
                                                       {">=", Comparison::GreaterOrEqual}}};

template<typename Value, size_t Count>
std::optional<Value> find_word(const std::array<Word<Value>, Count> &words, std::string_view text)
{
    const auto *const word =
        std::find_if(words.begin(), words.end(), [&](const auto &each) { return each.text == text; });
    return word == words.end() ? std::nullopt : std::optional(word->value);
}

std::string in_small_letters(std::string_view text)
{
    std::string small(text);
    std::transform(small.begin(), small.end(), small.begin(),
                   [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
    return small;
}

/** @return nothing if it cannot be understood */
std::optional<Term> parse_term(std::string_view text)
{
    const size_t name_end = std::min(text.find_first_of(operator_characters), text.size());
    const size_t value_begin = std::min(text.find_first_not_of(operator_characters, name_end), text.size());
    const auto property = find_word(properties, in_small_letters(text.substr(0, name_end)));
    const auto comparison = find_word(comparisons, text.substr(name_end, value_begin - name_end));
    const std::string_view value = text.substr(value_begin);
    if (!property || !comparison || value.empty())
        return std::nullopt;
    if (*property == Property::Brand) {
        const bool is_order = *comparison != Comparison::Equal && *comparison != Comparison::NotEqual;
        return is_order ? std::nullopt
                        : std::optional(Term{*property, *comparison, {}, in_small_letters(value)});
    }
    const auto version = DottedVersion::parse(value);
    return version ? std::optional(Term{*property, *comparison, *version}) : std::nullopt;
}

Error not_understood(const std::string &term, const RequestValue &required)
{
    return {ErrorKind::Usage,
            "the " + required.origin + " has " + quote(term) + " in " + quote(required.value) +
                ", which is no requirement: it takes 'cuda', 'driver' or 'arch' with =, !=, <, <=, > or "
                ">= and a version, or 'brand' with = or != and a name; commas join what all has to hold, "
                "blanks separate alternatives"};
}

Answer answer(bool is_so)
{
    return is_so ? Answer::Yes : Answer::No;
}

bool compare(const DottedVersion &known, Comparison comparison, const DottedVersion &wanted)
{
    switch (comparison) {
    case Comparison::Equal:
        return known == wanted;
    case Comparison::NotEqual:
        return known != wanted;
    case Comparison::Less:
        return known < wanted;
    case Comparison::LessOrEqual:
        return known <= wanted;
    case Comparison::Greater:
        return known > wanted;
    case Comparison::GreaterOrEqual:
        return known >= wanted;
    }
    return false;
}

Answer is_met(const Term &term, const std::optional<KnownVersion> &known)
{
    if (!known)
        return Answer::NotKnown;
    if (!known->or_newer)
        return answer(compare(known->version, term.comparison, term.version));
    // What holds for the least and for all above it, or for none of these, is certain.
    if (known->version < term.version ||
        (known->version == term.version && term.comparison != Comparison::GreaterOrEqual &&
         term.comparison != Comparison::Less))
        return Answer::NotKnown;
    return answer(term.comparison == Comparison::NotEqual || term.comparison == Comparison::Greater ||
                  term.comparison == Comparison::GreaterOrEqual);
}

std::optional<KnownVersion> as_known(const std::string &version)
{
    const auto parsed = DottedVersion::parse(version);
    return parsed ? std::optional(KnownVersion{*parsed}) : std::nullopt;
}

/** @param brand "" if it is not known */
Answer is_met(const Term &term, const GpuFacts &facts, std::string_view brand)
{
    switch (term.property) {
    case Property::Cuda:
        return is_met(term, facts.cuda);
    case Property::Driver:
        return is_met(term, as_known(facts.driver));
    case Property::Arch:
        return is_met(term, facts.arch);
    case Property::Brand:
        break;
    }
    if (brand.empty())
        return Answer::NotKnown;
    return answer((brand == term.brand) == (term.comparison == Comparison::Equal));
}

/** For a GPU of that brand. */
Answer is_met(const Requirement &requirement, const GpuFacts &facts, std::string_view brand)
{
    Answer best = requirement.alternatives.empty() ? Answer::Yes : Answer::No;
    for (const auto &terms : requirement.alternatives) {
        Answer worst = Answer::Yes;
        for (const Term &term : terms)
            worst = std::min(worst, is_met(term, facts, brand));
        best = std::max(best, worst);
    }
    return best;
}

} // namespace

Requirement parse_requirement(const RequestValue &required)
{
    Requirement requirement{required.value, required.origin, {}};
    for (const std::string &alternative : split_list(required.value, ' ')) {
        std::vector<Term> terms;
        for (const std::string &text : split_list(alternative)) {
            if (text.empty())
                continue;
            const auto term = parse_term(text);
            if (!term)
                throw not_understood(text, required);
            terms.push_back(*term);
        }
        if (!terms.empty())
            requirement.alternatives.push_back(std::move(terms));
    }
    return requirement;
}

Answer is_met(const Requirement &requirement, const GpuFacts &facts)
{
    if (facts.brands.empty())
        return is_met(requirement, facts, "");
    // An image names all brands of a family, one alternative each: then it does not matter which of them it is.
    const Answer first = is_met(requirement, facts, facts.brands.front());
    const bool is_same = std::all_of(facts.brands.begin(), facts.brands.end(), [&](std::string_view brand) {
        return is_met(requirement, facts, brand) == first;
    });
    return is_same ? first : Answer::NotKnown;
}

} // namespace ogh::nvidia_devices
