// SPDX-License-Identifier: Apache-2.0
#include "lease/other_use.h"

#include <algorithm>

#include "base/error.h"
#include "lease/quick_ends.h"

namespace ogh {

void OtherUse::look(const Processes &processes)
{
    if (!request_.find_users)
        return;
    const bool was_known = all_.unknown.empty();
    all_ = request_.find_users(processes);
    if (all_.unknown.empty())
        return;
    if (request_.only_empty)
        throw Error(ErrorKind::NotAvailable,
                    "--only-empty gives GPUs that nobody uses, and who does is not known: " + all_.unknown);
    if (was_known && request_.notes != nullptr)
        request_.notes->push_back({LogLevel::Info, "who uses GPUs is not known: " + all_.unknown});
}

void OtherUse::compare(const Processes &processes, const LeaseState &state)
{
    used_ = used_by_others(processes, state, all_);
}

EmptyPart OtherUse::empty_part(const Demand &demand) const
{
    EmptyPart part{demand};
    if (!request_.only_empty)
        return part;
    const auto take_note = [&](const LeaseKey &key) {
        const auto found = used_.find(std::string(gpu_of(key)));
        if (found != used_.end())
            part.used += (part.used.empty() ? "" : "; ") + name(key) + " " + found->second;
        return found != used_.end();
    };
    const auto number = std::count_if(demand.fixed.begin(), demand.fixed.end(), take_note);
    std::erase_if(part.demand.candidates, take_note);
    part.is_enough = number == 0 && part.demand.candidates.size() >= demand.any;
    return part;
}

std::set<LeaseKey> OtherUse::gpus() const
{
    std::set<LeaseKey> gpus;
    for (const auto &[gpu, who] : used_)
        gpus.insert(gpu);
    return gpus;
}

Notes OtherUse::notes(const LeaseState &state, const Decision &decision, const Demand &demand) const
{
    Notes notes;
    const auto who = [&](const LeaseKey &key) { return used_.find(std::string(gpu_of(key))); };
    for (const LeaseKey &key : decision.passed_by) {
        const std::string why = ends_at_once(state, key)
                                    ? "the last " + std::to_string(enough_quick_ends) +
                                          " containers that had it ended within 10 seconds"
                                    : "it " + who(key)->second;
        notes.push_back({LogLevel::Warning, name(key) + " is passed by: " + why});
    }
    // What is named is the container's wish, but where it is to be its own alone.
    const auto first =
        decision.granted->begin() +
        static_cast<std::ptrdiff_t>(demand.mode == LeaseMode::Exclusive ? 0 : demand.fixed.size());
    std::for_each(first, decision.granted->end(), [&](const LeaseKey &key) {
        if (const auto found = who(key); found != used_.end())
            notes.push_back({LogLevel::Warning, name(key) + " is given, and " + found->second});
    });
    return notes;
}

std::string OtherUse::name(const LeaseKey &key) const
{
    return request_.name_device ? request_.name_device(key) : key;
}

} // namespace ogh
