// SPDX-License-Identifier: Apache-2.0
#include "listing/lease_listing.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <set>
#include <string_view>

#include "base/duration.h"
#include "base/table.h"
#include "base/text.h"
#include "lease/rules/lease_rules.h"
#include "lease/state/boot_clock.h"
#include "lease/state/lease_changes.h"
#include "lease/waiting/lease_store.h"
#include "request/availability.h"

namespace ogh {

namespace {

/** Of one GPU. */
struct Use {
    bool drained = false;
    bool kept = false; ///< for those who wait
    bool used = false; ///< without a lease
    bool exclusive = false;
    size_t holders = 0;

    [[nodiscard]] bool is_free() const { return !drained && !kept && !used && holders == 0; }
};

/** Whether somebody who comes now and asks for nothing special does not get it, since others came earlier. */
bool is_kept(const LeaseKey &key, const GpuState &state)
{
    const Demand demand{{key}, 0, {}, state.least};
    return !decide(state.leases.state, {{}, demand}, boottime_ns(), Depth::Enough).granted;
}

Use use_of(const LeaseKey &key, const GpuState &state)
{
    const LeaseList &leases = state.leases;
    Use use;
    use.drained = std::any_of(leases.drains.begin(), leases.drains.end(),
                              [&](const Drain &drain) { return overlap(drain.key, key); });
    for (const LeaseEntry &entry : leases.entries) {
        for (const LeasedDevice &device : entry.devices) {
            if (entry.observes || entry.is_deprived || !overlap(device.key, key))
                continue;
            ++use.holders;
            use.exclusive = use.exclusive || device.mode == LeaseMode::Exclusive;
            break;
        }
    }
    use.used = use.is_free() && state.used.contains(std::string(gpu_of(key)));
    use.kept = use.is_free() && is_kept(key, state);
    return use;
}

std::string lease_text(const Use &use)
{
    std::string text = use.drained ? "drained" : use.kept ? "kept" : use.used ? "used" : "";
    if (use.holders != 0)
        text += (text.empty() ? "" : ", ") + std::string(use.exclusive ? "exclusive" : "shared") +
                (use.holders > 1 ? " by " + std::to_string(use.holders) : "");
    return text.empty() ? "free" : text;
}

std::string short_label(const LeaseKey &key, const std::vector<Candidate> &gpus)
{
    const Candidate *const found = find_by_lease_key(gpus, key);
    if (found == nullptr)
        return key;
    return found->index ? std::to_string(*found->index) : found->description;
}

/** The devices of this vendor among these: "0,1". */
std::string devices_text(const std::vector<LeaseKey> &keys, const GpuState &state)
{
    std::string text;
    for (const LeaseKey &key : keys) {
        if (vendor_in(key) == state.tags.type)
            text += (text.empty() ? "" : ",") + short_label(key, state.gpus);
    }
    return text;
}

/** The same of a container; what waits for any of some is "any:2 of 0,1,3". */
std::string devices_text(const LeaseEntry &entry, const GpuState &state)
{
    if (!entry.waits_for)
        return devices_text(keys_of(entry.devices), state);
    const Demand &demand = *entry.waits_for;
    std::string text = devices_text(demand.fixed, state);
    if (const std::string any = devices_text(demand.candidates, state); demand.any != 0 && !any.empty())
        text += (text.empty() ? "any:" : " and any:") + std::to_string(demand.any) + " of " + any;
    return text;
}

std::string lease_word(const LeaseEntry &entry)
{
    if (entry.observes)
        return std::string(observers_lease);
    if (entry.is_deprived)
        return "none";
    const auto exclusive = [](const LeasedDevice &device) { return device.mode == LeaseMode::Exclusive; };
    const bool is_exclusive = entry.waits_for
                                  ? entry.waits_for->mode == LeaseMode::Exclusive
                                  : std::any_of(entry.devices.begin(), entry.devices.end(), exclusive);
    return is_exclusive ? "exclusive" : "shared";
}

std::string state_text(const LeaseEntry &entry)
{
    if (!entry.lives)
        return "ended";
    if (entry.waits_for)
        return "waiting";
    if (entry.is_deprived)
        return "taken away, " +
               (entry.idle_since == 0 ? "not begun" : "idle since " + utc_text(entry.idle_since));
    if (entry.is_paused)
        return "paused";
    if (entry.never_started)
        return "never started";
    if (entry.why == PreemptReason::NotBegun)
        return "not begun, may be taken from " + utc_text(entry.from);
    if (entry.why == PreemptReason::Idle)
        return "idle since " + utc_text(entry.idle_since);
    const bool is_over = entry.why == PreemptReason::HeldTooLong && entry.from <= unix_time();
    return is_over ? "may be ended since " + utc_text(entry.from) : "running";
}

/** In which quotas it counts, or will. */
std::string quotas_text(const LeaseEntry &entry)
{
    std::set<std::string> names;
    const auto add = [&](const Quotas &quotas) {
        for (const Quota &quota : quotas)
            names.insert(quota.name);
    };
    for (const LeasedDevice &device : entry.devices)
        add(device.quotas);
    if (entry.waits_for)
        add(entry.waits_for->quotas);
    return list_text({names.begin(), names.end()});
}

/** Of a time that may not be known. */
HostListing::Cell time_cell(std::int64_t unix_seconds)
{
    return unix_seconds == 0 ? HostListing::Cell(nullptr) : HostListing::Cell(utc_text(unix_seconds));
}

ListingTable entries_of(const GpuState &state)
{
    ListingTable table{"leases",
                       {"container", "name", "image", "user", "asker", "pid", "gpus", "lease", "quotas",
                        "since", "deadline", "place", "state"},
                       {},
                       true};
    for (const LeaseEntry &entry : state.leases.entries) {
        const std::string gpus = devices_text(entry, state);
        if (gpus.empty())
            continue; // another vendor's
        const ContainerLabel &label = entry.label;
        table.rows.push_back(
            {known(entry.container), known(label.name), known(label.image), known(label.user),
             known(label.asker), static_cast<std::uint64_t>(entry.pid), gpus, lease_word(entry),
             quotas_text(entry), known(utc_text(entry.since)), time_cell(entry.deadline),
             entry.place == 0 ? HostListing::Cell(nullptr) : HostListing::Cell(std::uint64_t{entry.place}),
             state_text(entry)});
    }
    return table;
}

ListingTable drains_of(const GpuState &state)
{
    ListingTable table{"drains", {"gpu", "since", "until", "by", "reason"}, {}, true};
    for (const Drain &drain : state.leases.drains) {
        if (vendor_in(drain.key) == state.tags.type)
            table.rows.push_back({short_label(drain.key, state.gpus), utc_text(drain.since),
                                  time_cell(drain.until_ns == 0 ? 0 : unix_time_at(drain.until_ns)), drain.by,
                                  drain.reason});
    }
    return table;
}

/** The GPUs that may be given at all. */
std::vector<const Candidate *> usable(const GpuState &state)
{
    const Availability availability(state.gpus, state.policy);
    std::vector<const Candidate *> found;
    for (size_t i = 0; i < availability.size(); ++i) {
        if (availability.is_common(i))
            found.push_back(&state.gpus[i]);
    }
    return found;
}

/** Those on which containers end at once; "" where there is none. */
std::string last_ones(const GpuState &state)
{
    std::string text;
    for (const Candidate &gpu : state.gpus) {
        if (exits_early(state.leases.state, gpu.lease_key))
            text += (text.empty() ? "" : ",") + short_label(gpu.lease_key, state.gpus);
    }
    return text;
}

/** As Concourse's charm prints them for a worker. */
std::string tags_of(const GpuState &state)
{
    std::string indices;
    const auto gpus = usable(state);
    for (const Candidate *gpu : gpus)
        indices += (indices.empty() ? "" : ",") + short_label(gpu->lease_key, state.gpus);
    if (gpus.empty())
        return "";
    return std::string(state.tags.platform) + "\ngpu\ngpu-type=" + state.tags.type +
           "\ngpu-count=" + std::to_string(gpus.size()) + "\ngpu-devices=" + indices + "\n";
}

std::string status_of(const GpuState &state)
{
    size_t free = 0;
    size_t kept = 0;
    size_t exclusive = 0;
    size_t shared = 0;
    size_t drained = 0;
    size_t used = 0;
    const auto gpus = usable(state);
    for (const Candidate *gpu : gpus) {
        const Use use = use_of(gpu->lease_key, state);
        free += use.is_free() ? 1U : 0U;
        kept += use.kept ? 1U : 0U;
        drained += use.drained ? 1U : 0U;
        used += use.used ? 1U : 0U;
        if (use.holders != 0)
            ++(use.exclusive ? exclusive : shared);
    }
    const auto dead = std::count_if(state.gpus.begin(), state.gpus.end(),
                                    [](const Candidate &gpu) { return gpu.looks_dead && !gpu.whole; });
    const ListingTable entries = entries_of(state);
    const auto waiting = std::count_if(entries.rows.begin(), entries.rows.end(), [](const auto &row) {
        return row.back() == HostListing::Cell("waiting");
    });
    const std::string &keeper = state.leases.lock_keeper;
    return std::string(state.tags.type) + ": " + count_text(gpus.size()) + ", " + std::to_string(free) +
           " free, " + std::to_string(shared) + " shared, " + std::to_string(exclusive) + " exclusive, " +
           std::to_string(drained) + " drained, " + std::to_string(kept) + " kept for those who wait" +
           (used == 0 ? "" : ", " + std::to_string(used) + " used without a lease") +
           (dead == 0 ? "" : ", " + std::to_string(dead) + " that look dead") + "; " +
           std::to_string(waiting) + " waiting" +
           (keeper.empty() ? "" : "; " + keeper + " keeps the lock, which holds up all hooks") + "\n";
}

using Cell = HostListing::Cell;

/** What stands in a row, by the names of its columns; "" where nothing is known. */
using Row = std::map<std::string, std::string>;

Row row_of(const std::vector<std::string> &columns, const std::vector<Cell> &cells)
{
    Row row;
    for (size_t i = 0; i < cells.size(); ++i)
        row[columns.at(i)] = cells[i] == Cell(nullptr) ? "" : shown(cells[i]);
    return row;
}

/** @param end how many bytes of its end stay, of a text that is too long */
std::string clipped(std::string text, size_t most, size_t end = 0)
{
    std::replace_if(
        text.begin(), text.end(), [](char letter) { return letter < ' ' || letter > '~'; }, '?');
    if (text.size() > most)
        text.replace(most - 1 - end, text.size() - most + 1, "~");
    return text;
}

/** "11-22 21:09" of "2026-11-22T21:09:15Z". */
std::string minute(const std::string &time)
{
    constexpr size_t begin = 5;
    constexpr size_t day_end = 10;
    constexpr size_t end = 16;
    return time.size() < end
               ? ""
               : time.substr(begin, day_end - begin) + " " + time.substr(day_end + 1, end - day_end - 1);
}

std::string state_of(Row &row)
{
    if (row["place"].empty())
        return row["state"];
    return "#" + row["place"] + " to " + minute(row["deadline"]).substr(6);
}

std::vector<Cell> gpu_of(Row &row)
{
    constexpr size_t state = 38;
    return {known(row["index"]), row["address"], clipped(row["lease"], 18), clipped(row["state"], state)};
}

std::string short_lease(const std::string &lease)
{
    return lease == "exclusive" ? "excl" : lease == "observer" ? "none" : lease;
}

std::vector<Cell> lease_of(Row &row)
{
    constexpr size_t end = 10; // a step of a build is told from the others by its number alone
    const std::string name = row["name"].empty() ? short_container(row["container"]) : row["name"];
    const std::string asker = row["asker"];
    const bool has_user = !asker.starts_with("key:") && !row["user"].empty();
    return {known(clipped(name, 18, end)), known(clipped(has_user ? row["user"] : asker, 12)),
            clipped(row["gpus"], 9),       clipped(short_lease(row["lease"]), 6),
            minute(row["since"]),          clipped(state_of(row), 13)};
}

std::vector<Cell> drain_of(Row &row)
{
    return {clipped(row["gpu"], 12), minute(row["since"]), known(minute(row["until"])),
            clipped(row["reason"], 38)};
}

ListingTable table_of(const ListingTable &table, std::vector<std::string> columns,
                      std::vector<Cell> (*make)(Row &))
{
    ListingTable made{table.name, std::move(columns), {}, table.drops_empty};
    for (const auto &cells : table.rows) {
        Row row = row_of(table.columns, cells);
        made.rows.push_back(make(row));
    }
    return made;
}

} // namespace

std::string to_text(HostListing &listing, const GpuState &state, ListFormat format)
{
    if (format == ListFormat::Tags)
        return tags_of(state);
    if (format == ListFormat::Status)
        return status_of(state);
    if (std::string last = last_ones(state); !last.empty())
        listing.facts.emplace_back("last", std::move(last));
    // The state comes last: it is long, or empty.
    listing.columns.insert(listing.columns.end() - 1, "lease");
    for (size_t i = 0; i < listing.rows.size(); ++i) {
        auto &row = listing.rows[i];
        const LeaseKey &key = state.gpus.at(i).lease_key;
        const Use use = use_of(key, state);
        if (use.used && row.back() == HostListing::Cell(""))
            row.back() = state.used.at(std::string(gpu_of(key)));
        row.insert(row.end() - 1, lease_text(use));
    }
    listing.further.push_back(entries_of(state));
    listing.further.push_back(drains_of(state));
    std::string text =
        format == ListFormat::Screen ? to_text(screen_of(listing), format) : to_text(listing, format);
    const auto &entries = state.leases.entries;
    const bool has_left_over = std::any_of(entries.begin(), entries.end(),
                                           [](const LeaseEntry &entry) { return entry.never_started; });
    if (format != ListFormat::Json && has_left_over)
        text += "\nWhat nobody is going to start is ended by 'runc delete -f CONTAINER', or crun.\n";
    return text;
}

HostListing screen_of(const HostListing &listing)
{
    constexpr size_t fact = 60;
    HostListing screen{table_of(listing, {"index", "address", "lease", "state"}, gpu_of)};
    screen.none = listing.none;
    for (const auto &[name, value] : listing.facts)
        screen.facts.emplace_back(name, clipped(shown(value), fact));
    for (const ListingTable &table : listing.further) {
        if (table.name == "leases")
            screen.further.push_back(
                table_of(table, {"container", "who", "gpus", "lease", "since", "state"}, lease_of));
        else if (table.name == "drains")
            screen.further.push_back(table_of(table, {"gpu", "since", "until", "reason"}, drain_of));
    }
    return screen;
}

} // namespace ogh
