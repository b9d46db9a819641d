// SPDX-License-Identifier: Apache-2.0
#include "lease/lease_people.h"

#include <set>

#include "base/error.h"
#include "lease/lease_bounds.h"

namespace ogh {

namespace {

std::set<ProcessId> inits_of(const LeaseState &state)
{
    std::set<ProcessId> inits;
    for (const auto *const entries : {&state.allocations, &state.observers, &state.deprived}) {
        for (const Allocation &allocation : *entries)
            inits.insert(allocation.holder.init);
    }
    for (const Ticket &ticket : state.tickets)
        inits.insert(ticket.holder.init);
    return inits;
}

} // namespace

void note_people(const LeaseDirectory &directory, const LeaseState &state, const ProcessId &init,
                 const ContainerLabel &label)
{
    LeasePeople people = read_people(directory);
    std::erase_if(people,
                  [there = inits_of(state)](const auto &each) { return !there.contains(each.first); });
    people[init] = within_bounds(label);
    directory.write(people_document, to_text(people));
}

void try_to_note_people(const LeaseDirectory &directory, const LeaseState &state, const ProcessId &init,
                        const ContainerLabel &label)
{
    if (label == ContainerLabel())
        return;
    try {
        note_people(directory, state, init, label);
    } catch (const Error &) { // NOLINT(bugprone-empty-catch): the list goes without
    }
}

LeasePeople read_people(const LeaseDirectory &directory)
{
    try {
        const std::string text = directory.read(people_document, max_people_file);
        return text.empty() ? LeasePeople() : parse_people(text);
    } catch (const Error &) {
        return {};
    }
}

} // namespace ogh
