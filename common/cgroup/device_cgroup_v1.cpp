// SPDX-License-Identifier: Apache-2.0
#include "cgroup/device_cgroup_v1.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "cgroup/device_list.h"

namespace ogh {

namespace {

constexpr size_t max_list = size_t{1} << 20U;

std::string name_of(const Cgroup &cgroup)
{
    return "the device cgroup " + quote(cgroup.path) + " (version 1)";
}

UniqueFd open_file(int cgroup, const char *name, int flags)
{
    UniqueFd fd(::openat(cgroup, name, flags | O_CLOEXEC | O_NOFOLLOW));
    if (!fd.valid())
        throw SystemError(errno, std::string("cannot open ") + name, ErrorKind::BrokenHost);
    return fd;
}

std::string read_list(int cgroup, const char *name = "devices.list")
{
    return read_all(open_file(cgroup, name, O_RDONLY).get(), max_list, name);
}

/** The kernel takes one rule a call. */
void write_rule(int cgroup, const char *name, const DeviceRule &rule)
{
    write_all(open_file(cgroup, name, O_WRONLY).get(), to_text(rule), name);
}

void deny(int cgroup, const DeviceRule &rule)
{
    try {
        write_rule(cgroup, "devices.deny", rule);
    } catch (const Error &) {
        return; // the container is not going to start; its cgroup goes with it
    }
}

void allow_in(int cgroup, const DeviceRules &rules, UndoLog &undo)
{
    const std::string list = read_list(cgroup);
    for (const DeviceRule &rule : rules) {
        const bool was_allowed = list_allows(list, rule);
        // If everything is allowed, single devices may still be denied, which the list does not show.
        if (was_allowed && !list.starts_with("a "))
            continue;
        write_rule(cgroup, "devices.allow", rule);
        DeviceRule denied = rule;
        denied.access &= ~access_in_own_line(list, rule);
        if (!was_allowed && denied.access != 0)
            undo.add([cgroup, denied] { deny(cgroup, denied); });
    }
}

} // namespace

Notes DeviceCgroupV1::allow(const DeviceRules &rules, UndoLog &undo)
{
    Notes notes;
    UndoLog part; // taken back by itself where the container starts without these rules
    try {
        for (const Cgroup &cgroup : cgroups_) {
            allow_in(cgroup.fd.get(), rules, part);
            notes.push_back({LogLevel::Debug, name_of(cgroup) + " allows " + to_text(rules)});
        }
        undo.append(std::move(part));
        return notes;
    } catch (const SystemError &error) {
        part.run();
        if (!is_refusal(error.error_number()))
            throw;
        check_above(rules);
        return {{LogLevel::Info,
                 name_of(cgroups_.front()) +
                     " is not for this process to change, and is left as it is: " + error.what()}};
    }
}

/** The kernel refuses a rule in the same way whether this process may not write, or the parent lacks the rule. */
void DeviceCgroupV1::check_above(const DeviceRules &rules) const
{
    std::string above;
    try {
        above = read_list(cgroups_.front().fd.get(), "../devices.list");
    } catch (const Error &) {
        return; // the topmost that can be seen here
    }
    for (const DeviceRule &rule : rules) {
        if (!list_allows(above, rule))
            throw Error(ErrorKind::BrokenHost, "the cgroup above " + name_of(cgroups_.front()) + " denies " +
                                                   to_text(rule) +
                                                   ", so the container cannot be allowed it; allow it there");
    }
}

} // namespace ogh
