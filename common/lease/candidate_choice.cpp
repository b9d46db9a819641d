// SPDX-License-Identifier: Apache-2.0
#include "lease/candidate_choice.h"

#include <algorithm>
#include <cstdint>
#include <tuple>
#include <utility>

#include "base/contains.h"
#include "lease/by_gpu.h"
#include "lease/quick_ends.h"

namespace ogh {

bool covers(const LeaseKey &whole, const LeaseKey &part)
{
    return overlap(whole, part) && whole.size() <= part.size();
}

std::vector<LeaseKey> eligible(const Demand &demand, const std::vector<LeaseKey> &granted)
{
    ByGpu<const LeaseKey *> candidates;
    ByGpu<const LeaseKey *> taken;
    for (const LeaseKey &key : demand.candidates)
        candidates.add(gpu_of(key), &key);
    for (const LeaseKey &key : granted)
        taken.add(gpu_of(key), &key);
    std::vector<LeaseKey> found;
    for (const LeaseKey &key : demand.candidates) {
        const auto is_part = [&](const LeaseKey *other) { return *other != key && covers(key, *other); };
        const auto overlaps = [&](const LeaseKey *other) { return overlap(*other, key); };
        const auto &before = taken.near(gpu_of(key));
        const auto &all = candidates.near(gpu_of(key));
        if (std::none_of(before.begin(), before.end(), overlaps) &&
            std::none_of(all.begin(), all.end(), is_part)) {
            found.push_back(key);
            taken.add(gpu_of(key), &key);
        }
    }
    return found;
}

std::vector<LeaseKey> CandidateChoice::take_best(std::vector<LeaseKey> free, unsigned count,
                                                 std::vector<LeaseKey> &granted) const
{
    std::vector<Doubts> doubts;
    doubts.reserve(free.size());
    for (const LeaseKey &key : free)
        doubts.push_back(doubts_of(key));
    std::vector<LeaseKey> passed_by;
    if (std::any_of(doubts.begin(), doubts.end(), [](const Doubts &one) { return one > Doubts(); })) {
        passed_by = granted;
        take(free, std::vector<Doubts>(free.size()), count, passed_by);
    }
    take(std::move(free), doubts, count, granted);
    // Where one is passed by, so may be what would have gone with it.
    std::erase_if(passed_by,
                  [&](const LeaseKey &key) { return contains(granted, key) || doubts_of(key) == Doubts(); });
    return passed_by;
}

CandidateChoice::Doubts CandidateChoice::doubts_of(const LeaseKey &key) const
{
    if (has_(key))
        return {};
    return {ends_at_once(state_, key), in_use_.contains(std::string(gpu_of(key)))};
}

void CandidateChoice::take(std::vector<LeaseKey> free, const std::vector<Doubts> &doubts, unsigned count,
                           std::vector<LeaseKey> &granted) const
{
    // The lowest is chosen; where all is equal, the first one.
    using Rank = std::tuple<bool, Doubts, bool, size_t, std::uint64_t>;
    std::vector<Rank> ranks;
    ranks.reserve(free.size());
    for (size_t i = 0; i < free.size(); ++i) {
        const auto used = state_.last_used.find(free[i]);
        ranks.emplace_back(!has_(free[i]), doubts[i], false, count_holders(uses_, free[i], nullptr),
                           used == state_.last_used.end() ? 0 : used->second);
    }
    for (; count > 0; --count) {
        // What is granted before may be what breaks a GPU up.
        for (size_t i = 0; i < free.size(); ++i)
            std::get<2>(ranks[i]) = breaks_up_a_gpu(free[i], granted);
        const auto best = std::min_element(ranks.begin(), ranks.end());
        const auto place = free.begin() + (best - ranks.begin());
        granted.push_back(std::move(*place));
        free.erase(place);
        ranks.erase(best);
    }
}

bool CandidateChoice::breaks_up_a_gpu(const LeaseKey &key, const std::vector<LeaseKey> &granted) const
{
    const std::string_view gpu = gpu_of(key);
    if (key == gpu)
        return false;
    const auto is_part = [&](const LeaseKey &other) { return other != gpu && gpu_of(other) == gpu; };
    const auto &uses = uses_.near(gpu_of(key));
    return std::none_of(granted.begin(), granted.end(), is_part) &&
           std::none_of(uses.begin(), uses.end(),
                        [&](const DeviceUse &use) { return is_part(use.device->key); });
}

} // namespace ogh
