// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "request/selection.h"
#include "support/expect.h"

namespace ogh::test {

/** Every other value follows from the index. */
inline Candidate gpu(unsigned index, std::uint8_t bus)
{
    Candidate candidate;
    candidate.index = index;
    candidate.address = {0, bus, 0, 0};
    candidate.names = {"GPU-" + std::to_string(index) + "a", "card" + std::to_string(index + 1)};
    candidate.groups = {"gfx1100"};
    candidate.description = candidate.names.front();
    return candidate;
}

inline std::vector<Candidate> four()
{
    return {gpu(0, 0x0d), gpu(1, 0x1b), gpu(2, 0x5e), gpu(3, 0xc2)};
}

/** The third has a fault of the host, the fourth is kept from use on purpose and has no index. */
inline std::vector<Candidate> two_sound()
{
    auto list = four();
    list[2].problem = "it does not answer";
    list[3].problem = "it is excluded";
    list[3].problem_kind = ErrorKind::NotAvailable;
    list[3].index.reset();
    return list;
}

/** A host and its policy. */
struct Case {
    std::vector<Candidate> candidates = four();
    SelectionPolicy policy;
    Notes notes;

    static Case allowing(const std::string &list)
    {
        Case result;
        result.policy.allow = parse_allowed_selectors({list, "option '--allow'"});
        return result;
    }

    static Case at_most(unsigned max)
    {
        Case result;
        result.policy.max_devices = max;
        return result;
    }

    /** Places separated by blanks; in front of those of which any may be chosen: "0 any:2 of 1 3 4". */
    std::string choose(const std::string &value)
    {
        const Choice choice = resolve(parse_selectors({value, "annotation 'k'"}), candidates, policy, notes);
        std::string text;
        const auto add = [&](const std::string &word) { text += (text.empty() ? "" : " ") + word; };
        for (const size_t place : choice.fixed)
            add(std::to_string(place));
        if (choice.any != 0)
            add("any:" + std::to_string(choice.any) + " of");
        for (const size_t place : choice.candidates)
            add(std::to_string(place));
        return text;
    }

    Failure refuse(const std::string &value)
    {
        return failure_of([&] { choose(value); });
    }
};

inline Case of(std::vector<Candidate> candidates)
{
    Case result;
    result.candidates = std::move(candidates);
    return result;
}

constexpr const char *all_four = "0 (GPU-0a), 1 (GPU-1a), 2 (GPU-2a), 3 (GPU-3a)";

} // namespace ogh::test
