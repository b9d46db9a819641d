// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <set>
#include <utility>

#include "base/contains.h"
#include "base/error.h"
#include "base/text.h"
#include "cgroup/bpf.h"
#include "cgroup/cgroup_directory.h"
#include "cgroup/device_cgroup.h"
#include "cgroup/device_program.h"

namespace ogh {

namespace {

/** A program that is attached, and the one that takes its place. */
struct Replacement {
    const Cgroup *cgroup;
    std::uint32_t flags; ///< with which the old one is attached
    std::uint32_t old_id;
    UniqueFd old_program;
    UniqueFd new_program;
    UniqueFd link = UniqueFd(); ///< by which it is attached, if it is
};

std::string name_of(const std::string &path)
{
    return "the device cgroup " + quote(path) + " (version 2)";
}

/** Which cgroup above `lowest` has the program, for messages. */
std::string whose(const Cgroup &lowest, std::uint32_t id)
{
    std::optional<Cgroup> cgroup = parent_of(lowest);
    for (int depth = 0; cgroup && depth < max_cgroup_depth; ++depth) {
        if (contains(bpf::attached_programs(cgroup->fd.get()).ids, id))
            return name_of(cgroup->path);
        cgroup = parent_of(*cgroup);
    }
    return "a device cgroup above " + name_of(lowest.path);
}

/** @param answer what it is to give to the rules. @return nothing if it gives that already, or there is no such program any more */
std::optional<Replacement> prepare_one(const Cgroup &cgroup, std::uint32_t flags, std::uint32_t id,
                                       const DeviceRules &rules, Verdict answer)
{
    std::optional<UniqueFd> old = bpf::open_program(id);
    if (!old)
        return std::nullopt;
    const bool allows = answer == Verdict::Allows;
    const bpf::ProgramInfo info = bpf::read_program(old->get());
    const DeviceRules changed = allows ? not_allowed(info.instructions, rules) : rules;
    if (changed.empty())
        return std::nullopt;
    if (const std::string why_not = obstacle(info.instructions); !why_not.empty())
        throw Error(ErrorKind::BrokenHost, (allows ? "cannot add " : "cannot take ") + to_text(changed) +
                                               (allows ? " to" : " from") + " the program " +
                                               std::to_string(id) + " of " + name_of(cgroup.path) + ": " +
                                               why_not);
    return Replacement{&cgroup, flags, id, std::move(*old),
                       bpf::load_program(with_answer(info.instructions, changed, answer), info.name)};
}

std::vector<Replacement> prepare(const std::vector<Cgroup> &cgroups, const DeviceRules &rules, Verdict answer)
{
    std::vector<Replacement> planned;
    for (const Cgroup &cgroup : cgroups) {
        const bpf::Attached attached = bpf::attached_programs(cgroup.fd.get());
        for (const std::uint32_t id : attached.ids) {
            if (auto one = prepare_one(cgroup, attached.flags, id, rules, answer))
                planned.push_back(std::move(*one));
        }
    }
    return planned;
}

/** What applies to the container and is not attached to its own cgroups is not ours to change. */
void check_above(const std::vector<Cgroup> &cgroups, const DeviceRules &rules, Notes &notes)
{
    std::multiset<std::uint32_t> own;
    for (const Cgroup &cgroup : cgroups) {
        const std::vector<std::uint32_t> ids = bpf::attached_programs(cgroup.fd.get()).ids;
        own.insert(ids.begin(), ids.end());
    }
    for (const std::uint32_t id : bpf::effective_programs(cgroups.back().fd.get())) {
        // One program may be attached to several cgroups, and counts for each.
        if (const auto found = own.find(id); found != own.end()) {
            own.erase(found);
            continue;
        }
        const std::optional<UniqueFd> program = bpf::open_program(id);
        if (!program)
            continue;
        const DeviceProgram instructions = bpf::read_program(program->get()).instructions;
        for (const DeviceRule &rule : not_allowed(instructions, rules)) {
            const std::string where = whose(cgroups.front(), id);
            if (verdict(instructions, rule) == Verdict::Denies)
                throw Error(ErrorKind::BrokenHost,
                            where + " denies " + to_text(rule) +
                                ", so the container cannot be allowed it; allow it there");
            notes.push_back(
                {LogLevel::Warning,
                 where + " has a program of which it cannot be told whether it allows " + to_text(rule)});
        }
    }
}

void put(Replacement &next)
{
    const int cgroup = next.cgroup->fd.get();
    try {
        bpf::attach_program(cgroup, next.new_program.get(), next.flags, next.old_program.get());
    } catch (const SystemError &error) {
        // What a link holds is not found among the programs that are attached without one.
        std::optional<UniqueFd> link =
            error.error_number() == ENOENT ? bpf::find_link(cgroup, next.old_id) : std::nullopt;
        if (!link)
            throw;
        bpf::update_link(link->get(), next.new_program.get(), next.old_program.get());
        next.link = std::move(*link);
    }
}

void take_back(const Replacement &done) noexcept
{
    try {
        if (done.link.valid())
            bpf::update_link(done.link.get(), done.old_program.get(), done.new_program.get());
        else
            bpf::attach_program(done.cgroup->fd.get(), done.old_program.get(), done.flags,
                                done.new_program.get());
    } catch (const Error &) {
        return; // somebody else has replaced it since; the container is not going to start
    }
}

void allow_all(const std::vector<Cgroup> &cgroups, const DeviceRules &rules, UndoLog &undo, Notes &notes)
{
    std::vector<Replacement> planned = prepare(cgroups, rules, Verdict::Allows);
    check_above(cgroups, rules, notes);
    for (Replacement &next : planned) {
        put(next);
        const auto done = std::make_shared<const Replacement>(std::move(next));
        undo.add([done] { take_back(*done); });
    }
    for (const Cgroup &cgroup : cgroups)
        notes.push_back({LogLevel::Debug, name_of(cgroup.path) + " allows " + to_text(rules)});
}

} // namespace

void deny_v2(const std::vector<Cgroup> &cgroups, const DeviceRules &rules)
{
    std::vector<Replacement> planned = prepare(cgroups, rules, Verdict::Denies);
    if (planned.empty())
        throw Error(ErrorKind::BrokenHost, name_of(cgroups.front().path) + " has no program");
    for (Replacement &next : planned)
        put(next);
}

Notes allow_v2(const std::vector<Cgroup> &cgroups, const DeviceRules &rules, UndoLog &undo)
{
    Notes notes;
    UndoLog part; // taken back by itself where the container starts without these rules
    try {
        allow_all(cgroups, rules, part, notes);
        undo.append(std::move(part));
        return notes;
    } catch (const SystemError &error) {
        part.run();
        if (!is_refusal(error.error_number()))
            throw;
        return {{LogLevel::Info,
                 name_of(cgroups.back().path) +
                     " is not for this process to change, and is left as it is: " + error.what()}};
    }
}

} // namespace ogh
