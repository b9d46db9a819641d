// SPDX-License-Identifier: Apache-2.0
#include "lease/later_tickets.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <vector>

#include "lease/lease_fields.h"
#include "lease/lease_file.h"

namespace ogh {

namespace {

/** The value of a field of a line, of which no value has a blank; "" if it has none of that name. */
std::string_view value_of(std::string_view line, std::string_view name, size_t place)
{
    if (place == std::string_view::npos)
        return {};
    line.remove_prefix(place + name.size());
    return line.substr(0, line.find(' '));
}

/** Those who have gone, and those who have something. */
class Changes final {
public:
    Changes(const Watched &before, const LeaseState &state)
    {
        const Watched now = all_in(state);
        Watched gone;
        std::set_difference(before.holders.begin(), before.holders.end(), now.holders.begin(),
                            now.holders.end(), std::inserter(gone.holders, gone.holders.end()));
        std::set_difference(before.tickets.begin(), before.tickets.end(), now.tickets.begin(),
                            now.tickets.end(), std::inserter(gone.tickets, gone.tickets.end()));
        gone_ = watched_words(gone);
        for (const ProcessId &init : now.holders)
            pids_.push_back(init.pid);
    }

    [[nodiscard]] bool touch(std::string_view ticket) const
    {
        constexpr std::string_view watches = " watches=";
        constexpr std::string_view init = " pid=";
        return has_gone(value_of(ticket, watches, ticket.rfind(watches))) ||
               has_something(value_of(ticket, init, ticket.find(init)));
    }

private:
    [[nodiscard]] bool has_gone(std::string_view words) const
    {
        while (!words.empty()) {
            const std::string_view word = words.substr(0, words.find(','));
            if (std::find(gone_.begin(), gone_.end(), word) != gone_.end())
                return true;
            words.remove_prefix(std::min(words.size(), word.size() + 1));
        }
        return false;
    }

    [[nodiscard]] bool has_something(std::string_view word) const
    {
        pid_t pid = 0;
        std::from_chars(word.data(), word.data() + word.size(), pid);
        return std::binary_search(pids_.begin(), pids_.end(), pid);
    }

    std::vector<std::string> gone_; ///< as words
    std::vector<pid_t> pids_;       ///< of those who have something, in their order
};

/** @return bytes, to the end of a line. */
size_t size_of_touched(std::string_view lines, const Changes &changes)
{
    size_t touched = 0;
    for (size_t start = 0; start < lines.size();) {
        const size_t end = lines.find('\n', start) + 1;
        const bool is_of_the_one_before = lines[start] == ' ';
        if (is_of_the_one_before ? touched == start : changes.touch(lines.substr(start, end - 1 - start)))
            touched = end;
        start = end;
    }
    return touched;
}

} // namespace

Watched all_in(const LeaseState &state)
{
    Watched all;
    for (const Allocation &allocation : state.allocations)
        all.holders.insert(allocation.holder.init);
    for (const Ticket &ticket : state.tickets)
        all.tickets.insert(all.tickets.end(), ticket.number);
    return all;
}

void read_touched(const Watched &before, LeaseState &state, std::string_view &later, StateChange change)
{
    if (later.empty())
        return;
    const size_t size =
        touches_all(state, change) ? later.size() : size_of_touched(later, Changes(before, state));
    add_tickets(state, later.substr(0, size));
    later.remove_prefix(size);
}

} // namespace ogh
