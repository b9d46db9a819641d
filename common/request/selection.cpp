// SPDX-License-Identifier: Apache-2.0
#include "request/selection.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "base/text.h"
#include "request/availability.h"
#include "request/selectors.h"

namespace ogh {

namespace {

class Chooser final {
public:
    Chooser(const Availability &availability, Notes &notes)
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
        offer_where([](const Candidate &) { return true; });
        if (count(State::Taken) + count(State::Offered) == 0)
            throw availability_.missing("all");
    }

    void offer_open()
    {
        offer_where([](const Candidate &candidate) { return candidate.closed.empty(); });
        if (count(State::Taken) + count(State::Offered) == 0)
            throw availability_.none_open("allowed");
    }

    /** Takes what `all` and groups offer, or lets any of it be chosen where the policy allows less. */
    void settle()
    {
        const size_t taken = count(State::Taken);
        const size_t offered = count(State::Offered);
        if (taken > availability_.remaining(0) ||
            (taken == 0 && offered != 0 && availability_.remaining(0) == 0))
            throw availability_.too_many(taken + offered);
        const size_t room = std::min(offered, availability_.remaining(taken));
        if (room == offered) {
            std::replace(state_.begin(), state_.end(), State::Offered, State::Taken);
            return;
        }
        notes_.push_back({LogLevel::Info, "--max-devices allows " + std::to_string(taken + room) +
                                              " of the " + count_text(taken + offered) +
                                              " that were asked for"});
        any_ = static_cast<unsigned>(room);
        candidates_ = all_in(State::Offered);
    }

    /** @param group "" for any at all */
    void take_any(unsigned wanted, const std::string &group)
    {
        const std::string text = any_text(wanted, group);
        const size_t used = count(State::Taken) + any_;
        std::vector<size_t> common = group.empty() ? others() : others_of(group, text);
        note_passed_by(group);
        if (wanted > availability_.remaining(used) && wanted <= common.size())
            throw availability_.too_many(used + wanted);
        if (common.empty())
            throw availability_.missing(text);
        if (wanted > common.size())
            throw availability_.too_few(wanted, common.size(),
                                        (group.empty() ? "" : " of " + quote(group)) +
                                            (used == 0 ? "" : " besides those that are named"));
        any_ = wanted;
        candidates_ = std::move(common);
    }

    [[nodiscard]] Choice choice() const { return {all_in(State::Taken), any_, candidates_, others()}; }

private:
    enum class State { Left, LeftOut, Offered, Taken };

    [[nodiscard]] size_t count(State state) const
    {
        return static_cast<size_t>(std::count(state_.begin(), state_.end(), state));
    }

    [[nodiscard]] std::vector<size_t> all_in(State state) const
    {
        return availability_.places([&](size_t i) { return state_[i] == state; });
    }

    [[nodiscard]] std::vector<size_t> others() const
    {
        return availability_.places(
            [&](size_t i) { return availability_.is_common(i) && state_[i] != State::Taken; });
    }

    /** What is left of a group; as for a request that names it, what is given by its name alone is of it. */
    [[nodiscard]] std::vector<size_t> others_of(const std::string &group, const std::string &text) const
    {
        auto members =
            availability_.places([&](size_t i) { return has_name(availability_.at(i).groups, group); });
        if (members.empty())
            throw availability_.unknown(text);
        std::erase_if(members, [&](size_t i) {
            return !availability_.is_allowed(i) || !availability_.is_usable(i) || state_[i] == State::Taken;
        });
        return members;
    }

    /** All that anybody may have and that `is_wanted`. */
    template<typename Wanted> void offer_where(const Wanted &is_wanted)
    {
        for (size_t i = 0; i < availability_.size(); ++i) {
            if (state_[i] != State::Left || !availability_.is_allowed(i))
                continue;
            if (availability_.is_common(i) && is_wanted(availability_.at(i)))
                state_[i] = State::Offered;
            else
                note_left_out(i);
        }
    }

    /** Ends with an error at the first index that there is none of, so it is never longer than the list. */
    void take_range(const IndexRange &range, const std::string &text)
    {
        for (unsigned index = range.first; index <= range.last; ++index) {
            const std::string number = std::to_string(index);
            const std::string within = number == text ? "" : text;
            const auto found =
                availability_.places([&](size_t i) { return availability_.at(i).index == index; });
            if (found.empty())
                throw availability_.unknown(number, within);
            require(found.front(), number, within);
        }
    }

    [[nodiscard]] std::vector<size_t> meant_by(const Selector &selector, bool with_groups) const
    {
        return availability_.places(
            [&](size_t i) { return means(selector, availability_.at(i), with_groups); });
    }

    /** @return whether it is the address or the name of anything */
    bool take_each(const Selector &selector)
    {
        const auto found = meant_by(selector, false);
        for (const size_t i : found)
            require(i, selector.text);
        return !found.empty();
    }

    /** @return whether it is the name of a group */
    bool offer_group(const Selector &selector)
    {
        const auto members = meant_by(selector, true);
        auto allowed = members;
        std::erase_if(allowed, [&](size_t i) { return !availability_.is_allowed(i); });
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

    /** Those that `any` passes by since they are not in order, as `all` says it of them. */
    void note_passed_by(const std::string &group)
    {
        for (size_t i = 0; i < availability_.size(); ++i) {
            const Candidate &candidate = availability_.at(i);
            const bool is_of_it =
                group.empty() ? candidate.only_by_name.empty() : has_name(candidate.groups, group);
            if (!candidate.problem.empty() && availability_.is_allowed(i) && is_of_it)
                note_left_out(i);
        }
    }

    /** Once, however often a request could mean it. */
    void note_left_out(size_t i)
    {
        if (std::exchange(state_[i], State::LeftOut) == State::LeftOut)
            return;
        const Candidate &candidate = availability_.at(i);
        const bool is_fault = candidate.looks_dead ||
                              (!candidate.problem.empty() && candidate.problem_kind == ErrorKind::BrokenHost);
        const std::string &why = !candidate.problem.empty()        ? candidate.problem
                                 : !candidate.only_by_name.empty() ? candidate.only_by_name
                                                                   : candidate.closed;
        notes_.push_back({is_fault ? LogLevel::Warning : LogLevel::Info,
                          "GPU " + label(candidate) + " is left out: " + why});
    }

    const Availability &availability_;
    Notes &notes_;
    std::vector<State> state_;
    unsigned any_ = 0;
    std::vector<size_t> candidates_;
};

} // namespace

Choice resolve(const Selectors &selectors, const std::vector<Candidate> &candidates,
               const SelectionPolicy &policy, Notes &notes)
{
    if (selectors.none)
        return {};
    const Availability availability(candidates, policy);
    Chooser chooser(availability, notes);
    for (const Selector &selector : selectors.named)
        chooser.take(selector);
    if (selectors.all)
        chooser.offer_all();
    if (selectors.allowed)
        chooser.offer_open();
    chooser.settle();
    if (selectors.any != 0)
        chooser.take_any(selectors.any, selectors.any_of);
    return chooser.choice();
}

std::string any_text(unsigned count, const std::string &group)
{
    return "any:" + (group.empty() ? "" : group + ":") + std::to_string(count);
}

std::vector<size_t> first_of(const Choice &choice)
{
    std::vector<size_t> places = choice.fixed;
    places.insert(places.end(), choice.candidates.begin(), choice.candidates.begin() + choice.any);
    std::sort(places.begin(), places.end());
    return places;
}

std::set<PciAddress> addresses_meant(const Selectors &selectors, const std::vector<Candidate> &candidates,
                                     const SelectionPolicy &policy)
{
    const Availability availability(candidates, policy);
    const bool means_any = selectors.any != 0 && selectors.any_of.empty();
    const auto is_meant = [&](size_t i) {
        const Candidate &candidate = candidates[i];
        return ((selectors.all || selectors.allowed || means_any) && availability.is_common(i)) ||
               (selectors.any != 0 && has_name(candidate.groups, selectors.any_of)) ||
               is_named(selectors, candidate);
    };
    std::set<PciAddress> addresses;
    for (const size_t i : availability.places(is_meant)) {
        if (availability.is_allowed(i) && availability.is_usable(i))
            addresses.insert(candidates[i].address);
    }
    return addresses;
}

std::set<PciAddress> addresses_of(const std::vector<Candidate> &candidates)
{
    std::set<PciAddress> addresses;
    for (const Candidate &candidate : candidates)
        addresses.insert(candidate.address);
    return addresses;
}

void limit(SelectionPolicy &policy, const KeyLimits &limits)
{
    if (limits.allow)
        policy.allow_too = parse_allowed_selectors({*limits.allow, "--allow of a line of the key file"});
    if (limits.max_devices && (!policy.max_devices || *limits.max_devices < *policy.max_devices)) {
        policy.max_devices = limits.max_devices;
        policy.is_most_by_key = true;
    }
}

} // namespace ogh
