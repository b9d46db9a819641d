// SPDX-License-Identifier: Apache-2.0
#include "request/selection.h"

#include <algorithm>
#include <variant>

#include "request/availability.h"

namespace ogh {

namespace {

class Resolver final {
public:
    Resolver(const Availability &availability, Notes &notes)
        : availability_(availability), notes_(notes), state_(availability.size(), State::Left)
    {
    }

    void take(const Selector &selector)
    {
        if (const auto *range = std::get_if<IndexRange>(&selector.what))
            take_range(*range, selector.text);
        else if (!take_each(selector) && !offer_group(selector))
            throw availability_.unknown(selector.text);
    }

    void offer_all()
    {
        for (size_t i = 0; i < availability_.size(); ++i) {
            if (state_[i] != State::Left || !availability_.is_allowed(i))
                continue;
            if (availability_.is_common(i))
                state_[i] = State::Offered;
            else
                note_left_out(i);
        }
        if (count(State::Taken) + count(State::Offered) == 0)
            throw availability_.missing("all");
    }

    /** Takes of what `all` and groups offer as much as the policy allows. */
    void settle(const IsFree &is_free)
    {
        const size_t taken = count(State::Taken);
        const size_t offered = count(State::Offered);
        if (taken > availability_.room(0) || (taken == 0 && offered != 0 && availability_.room(0) == 0))
            throw availability_.too_many(taken + offered);
        const size_t room = std::min(offered, availability_.room(taken));
        size_t left = room;
        if (room < offered) {
            notes_.push_back({LogLevel::Info, "--max-devices allows " + std::to_string(taken + room) +
                                                  " of the " + count_text(taken + offered) +
                                                  " that were asked for"});
            left = take_offered(left, is_free);
        }
        take_offered(left, [](const Candidate &) { return true; });
    }

    void take_any(unsigned wanted, const IsFree &is_free)
    {
        const std::string text = "any:" + std::to_string(wanted);
        if (wanted > availability_.room(count(State::Taken)) && wanted <= count_common())
            throw availability_.too_many(count(State::Taken) + wanted);
        if (wanted > count_common())
            throw availability_.missing(text);
        std::vector<size_t> free;
        for (size_t i = 0; i < availability_.size() && free.size() < wanted; ++i) {
            if (availability_.is_common(i) && state_[i] != State::Taken && is_free(availability_.at(i)))
                free.push_back(i);
        }
        if (free.size() < wanted)
            throw availability_.not_free(text, free.size(), count_common());
        for (const size_t i : free)
            state_[i] = State::Taken;
    }

    [[nodiscard]] std::vector<size_t> taken() const
    {
        std::vector<size_t> places;
        for (size_t i = 0; i < availability_.size(); ++i) {
            if (state_[i] == State::Taken)
                places.push_back(i);
        }
        return places;
    }

private:
    enum class State { Left, Offered, Taken };

    [[nodiscard]] size_t count(State state) const
    {
        return static_cast<size_t>(std::count(state_.begin(), state_.end(), state));
    }

    /** How many there are for `any` that are not taken yet, free or not. */
    [[nodiscard]] size_t count_common() const
    {
        size_t number = 0;
        for (size_t i = 0; i < availability_.size(); ++i)
            number += availability_.is_common(i) && state_[i] != State::Taken ? 1U : 0U;
        return number;
    }

    /** Ends with an error at the first index that there is none of, so it is never longer than the list. */
    void take_range(const IndexRange &range, const std::string &text)
    {
        for (unsigned index = range.first; index <= range.last; ++index) {
            const std::string number = std::to_string(index);
            const std::string within = number == text ? "" : text;
            size_t i = 0;
            while (i < availability_.size() && availability_.at(i).index != index)
                ++i;
            if (i == availability_.size())
                throw availability_.unknown(number, within);
            require(i, number, within);
        }
    }

    /** @return whether it is the address or the name of anything */
    bool take_each(const Selector &selector)
    {
        bool found = false;
        for (size_t i = 0; i < availability_.size(); ++i) {
            if (!std::visit(Means{availability_.at(i), false}, selector.what))
                continue;
            require(i, selector.text);
            found = true;
        }
        return found;
    }

    /** @return whether it is the name of a group */
    bool offer_group(const Selector &selector)
    {
        std::vector<size_t> members;
        std::vector<size_t> allowed;
        for (size_t i = 0; i < availability_.size(); ++i) {
            if (!std::visit(Means{availability_.at(i), true}, selector.what))
                continue;
            members.push_back(i);
            if (availability_.is_allowed(i))
                allowed.push_back(i);
        }
        if (!members.empty() && allowed.empty())
            throw availability_.not_allowed(selector.text);
        bool any_usable = false;
        for (const size_t i : allowed) {
            any_usable = any_usable || availability_.is_usable(i);
            if (!availability_.is_usable(i))
                note_left_out(i);
            else if (state_[i] == State::Left)
                state_[i] = State::Offered;
        }
        if (!allowed.empty() && !any_usable)
            throw availability_.unusable(allowed.front(), selector.text);
        return !members.empty();
    }

    void require(size_t i, const std::string &text, const std::string &within = "")
    {
        if (!availability_.is_allowed(i))
            throw availability_.not_allowed(text, within);
        if (!availability_.is_usable(i))
            throw availability_.unusable(i, text, within);
        state_[i] = State::Taken;
    }

    /** @return how many of `left` could not be taken */
    size_t take_offered(size_t left, const IsFree &is_wanted)
    {
        for (size_t i = 0; i < availability_.size() && left != 0; ++i) {
            if (state_[i] != State::Offered || !is_wanted(availability_.at(i)))
                continue;
            state_[i] = State::Taken;
            --left;
        }
        return left;
    }

    void note_left_out(size_t i)
    {
        const Candidate &candidate = availability_.at(i);
        const bool is_fault = !candidate.problem.empty() && candidate.problem_code == ExitCode::Host;
        const std::string &why = candidate.problem.empty() ? candidate.only_by_name : candidate.problem;
        notes_.push_back({is_fault ? LogLevel::Warning : LogLevel::Info,
                          "GPU " + label(candidate) + " is left out: " + why});
    }

    const Availability &availability_;
    Notes &notes_;
    std::vector<State> state_;
};

} // namespace

std::vector<size_t> resolve(const Selectors &selectors, const std::vector<Candidate> &candidates,
                            const SelectionPolicy &policy, const IsFree &is_free, Notes &notes)
{
    if (selectors.none)
        return {};
    const IsFree ask = is_free ? is_free : [](const Candidate &) { return true; };
    const Availability availability(candidates, policy);
    Resolver resolver(availability, notes);
    for (const Selector &selector : selectors.named)
        resolver.take(selector);
    if (selectors.all)
        resolver.offer_all();
    resolver.settle(ask);
    if (selectors.any != 0)
        resolver.take_any(selectors.any, ask);
    return resolver.taken();
}

} // namespace ogh
