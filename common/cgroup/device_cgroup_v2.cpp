// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <iterator>
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

/** Puts `program` in the place of `old` in the way in which that is attached. */
void exchange(int cgroup, std::uint32_t flags, int program, int old)
{
    if ((flags & BPF_F_ALLOW_MULTI) != 0)
        bpf::replace_program(cgroup, program, old);
    else
        bpf::attach_program(cgroup, program, flags);
}

std::optional<Replacement> prepare_one(const Cgroup &cgroup, std::uint32_t id, const DeviceRules &rules)
{
    std::optional<UniqueFd> old = bpf::open_program(id);
    if (!old)
        return std::nullopt;
    const bpf::ProgramInfo info = bpf::read_program(old->get());
    const DeviceRules missing = not_allowed(info.instructions, rules);
    if (missing.empty())
        return std::nullopt;
    const std::string why_not = obstacle(info.instructions);
    if (!why_not.empty())
        throw Error(ErrorKind::BrokenHost, "cannot add " + to_text(missing) + " to the program " +
                                               std::to_string(id) + " of " + name_of(cgroup.path) + ": " +
                                               why_not);
    return Replacement{&cgroup, 0, id, std::move(*old),
                       bpf::load_program(with_rules(info.instructions, missing), info.name)};
}

std::vector<Replacement> prepare(const Cgroup &cgroup, const DeviceRules &rules)
{
    std::vector<Replacement> planned;
    const bpf::Attached attached = bpf::attached_programs(cgroup.fd.get());
    for (const std::uint32_t id : attached.ids) {
        std::optional<Replacement> one = prepare_one(cgroup, id, rules);
        if (!one)
            continue;
        one->flags = attached.flags;
        planned.push_back(std::move(*one));
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
        exchange(cgroup, next.flags, next.new_program.get(), next.old_program.get());
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
            exchange(done.cgroup->fd.get(), done.flags, done.old_program.get(), done.new_program.get());
    } catch (const Error &) {
        return; // somebody else has replaced it since; the container is not going to start
    }
}

void allow_all(const std::vector<Cgroup> &cgroups, const DeviceRules &rules, UndoLog &undo, Notes &notes)
{
    std::vector<Replacement> planned;
    for (const Cgroup &cgroup : cgroups) {
        std::vector<Replacement> some = prepare(cgroup, rules);
        std::move(some.begin(), some.end(), std::back_inserter(planned));
    }
    check_above(cgroups, rules, notes);
    for (Replacement &next : planned) {
        put(next);
        const auto done = std::make_shared<const Replacement>(std::move(next));
        undo.add([done] { take_back(*done); });
    }
    for (const Cgroup &cgroup : cgroups)
        notes.push_back({LogLevel::Debug, name_of(cgroup.path) + " allows " + to_text(rules)});
}

std::vector<Replacement> prepare_denial(const Cgroup &cgroup, const DeviceRules &rules)
{
    std::vector<Replacement> planned;
    const bpf::Attached attached = bpf::attached_programs(cgroup.fd.get());
    for (const std::uint32_t id : attached.ids) {
        std::optional<UniqueFd> old = bpf::open_program(id);
        if (!old)
            continue;
        const bpf::ProgramInfo info = bpf::read_program(old->get());
        if (const std::string why_not = obstacle(info.instructions); !why_not.empty())
            throw Error(ErrorKind::BrokenHost, "cannot take " + to_text(rules) + " from the program " +
                                                   std::to_string(id) + " of " + name_of(cgroup.path) + ": " +
                                                   why_not);
        planned.push_back({&cgroup, attached.flags, id, std::move(*old),
                           bpf::load_program(without_rules(info.instructions, rules), info.name)});
    }
    return planned;
}

} // namespace

void deny_v2(const std::vector<Cgroup> &cgroups, const DeviceRules &rules)
{
    std::vector<Replacement> planned;
    for (const Cgroup &cgroup : cgroups) {
        std::vector<Replacement> some = prepare_denial(cgroup, rules);
        std::move(some.begin(), some.end(), std::back_inserter(planned));
    }
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
