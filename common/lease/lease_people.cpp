// SPDX-License-Identifier: Apache-2.0
#include "lease/lease_people.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <set>

#include "base/error.h"
#include "base/file.h"
#include "lease/lease_bounds.h"
#include "lease/lease_fields.h"
#include "lease/lease_words.h"

namespace ogh {

namespace {

constexpr const char *file_name = "people";
constexpr const char *what = "the file of what leases are called";
constexpr std::string_view kind = "container";

constexpr size_t max_short = 255;  ///< of a name, a user, an asker, as a word
constexpr size_t max_line = 3072;  ///< what follows from the bounds of its words
constexpr size_t roomy = 64 << 10; ///< from that size on it is written anew
constexpr size_t max_file = 2 * (roomy + max_lease_containers * max_line);

std::set<ProcessId> inits_of(const LeaseState &state)
{
    std::set<ProcessId> inits;
    for (const Allocation &allocation : state.allocations)
        inits.insert(allocation.holder.init);
    for (const Allocation &observer : state.observers)
        inits.insert(observer.holder.init);
    for (const Allocation &each : state.deprived)
        inits.insert(each.holder.init);
    for (const Ticket &ticket : state.tickets)
        inits.insert(ticket.holder.init);
    return inits;
}

/** Only those of the state. Whoever reads it meanwhile may miss some, which is for people alone. */
void write_anew(int file, const LeaseState &state)
{
    std::string text;
    const std::set<ProcessId> inits = inits_of(state);
    for (const auto &[init, label] : parse_people(read_all(file, max_file, what))) {
        if (inits.contains(init))
            text += people_line(init, label);
    }
    if (::ftruncate(file, 0) != 0)
        throw SystemError(errno, std::string("cannot shorten ") + what, ErrorKind::BrokenHost);
    write_all(file, text, what);
}

} // namespace

std::string people_line(const ProcessId &init, const ContainerLabel &label)
{
    constexpr size_t max_image = 1024;
    std::string text;
    {
        LeaseLine line(text, kind, LeaseWordStyle::Named);
        line.add("pid", static_cast<std::uint64_t>(init.pid));
        line.add("start", init.start_time);
        line.add("name", beginning_of(label.name, max_short));
        line.add("image", beginning_of(label.image, max_image));
        line.add("user", beginning_of(label.user, max_short));
        line.add("asker", beginning_of(label.asker, max_short));
        line.add("bundle", beginning_of(label.bundle, max_image));
    }
    return text + '\n';
}

LeasePeople parse_people(std::string_view text)
{
    LeasePeople people;
    while (!text.empty()) {
        const std::string_view line = text.substr(0, text.find('\n'));
        text.remove_prefix(std::min(text.size(), line.size() + 1));
        if (!line.starts_with(kind) || line.size() <= kind.size())
            continue;
        LeaseWords words(line.substr(kind.size() + 1), 1, LeaseWordStyle::Named);
        try {
            const ProcessId init = take_process(words, "pid", "start");
            people[init] = {words.text("name"), words.text("image"), words.text("user"), words.text("asker"),
                            words.text("bundle")};
        } catch (const Error &) {
            continue; // of a later version, or cut short
        }
    }
    return people;
}

void note_people(const LeaseDirectory &directory, const LeaseState &state, const ProcessId &init,
                 const ContainerLabel &label)
{
    const UniqueFd file = directory.open_private(file_name, O_RDWR | O_APPEND);
    const off_t size = ::lseek(file.get(), 0, SEEK_END);
    if (size > 0 && static_cast<size_t>(size) > roomy + 2 * max_line * inits_of(state).size()) {
        ::lseek(file.get(), 0, SEEK_SET);
        write_anew(file.get(), state);
    }
    write_all(file.get(), people_line(init, label), what);
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
        return parse_people(read_all(directory.open_private(file_name, O_RDONLY).get(), max_file, what));
    } catch (const Error &) {
        return {};
    }
}

} // namespace ogh
