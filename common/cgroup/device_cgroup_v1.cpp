// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <utility>
#include <vector>

#include "base/contains.h"
#include "base/error.h"
#include "base/file.h"
#include "base/number.h"
#include "base/text.h"
#include "cgroup/device_cgroup.h"

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

/** A rule, as the list has it. */
struct Line {
    std::string_view type;
    std::string_view major;
    std::string_view minor;
    unsigned access = 0;
};

unsigned access_of(std::string_view letters)
{
    return (contains(letters, 'r') ? access_read : 0U) | (contains(letters, 'w') ? access_write : 0U) |
           (contains(letters, 'm') ? access_mknod : 0U);
}

/** "c 1:3 rwm". What has another form becomes a line that allows nothing. */
Line parse(std::string_view text)
{
    Line line;
    line.type = next_part(text, ' ');
    std::string_view numbers = next_part(text, ' ');
    line.major = next_part(numbers, ':');
    line.minor = numbers;
    if (text.empty() || contains(text, ' '))
        return {};
    line.access = access_of(text);
    return line;
}

std::string_view type_of(const DeviceRule &rule)
{
    return rule.type == DeviceRule::Type::Char ? "c" : "b";
}

bool is(std::string_view text, unsigned value)
{
    return parse_number(text) == value;
}

bool is_all_or(std::string_view text, unsigned value)
{
    return text == "*" || is(text, value);
}

bool covers(const Line &line, const DeviceRule &rule)
{
    return (line.type == "a" || line.type == type_of(rule)) && is_all_or(line.major, rule.major) &&
           is_all_or(line.minor, rule.minor) && (rule.access & ~line.access) == 0;
}

/** The kernel refuses a rule in the same way whether this process may not write, or the parent lacks the rule. */
void check_above(const Cgroup &topmost, const DeviceRules &rules)
{
    std::string above;
    try {
        above = read_list(topmost.fd.get(), "../devices.list");
    } catch (const Error &) {
        return; // the topmost that can be seen here
    }
    for (const DeviceRule &rule : rules) {
        if (!list_allows(above, rule))
            throw Error(ErrorKind::BrokenHost, "the cgroup above " + name_of(topmost) + " denies " +
                                                   to_text(rule) +
                                                   ", so the container cannot be allowed it; allow it there");
    }
}

} // namespace

Notes allow_v1(const std::vector<Cgroup> &cgroups, const DeviceRules &rules, UndoLog &undo)
{
    Notes notes;
    UndoLog part; // taken back by itself where the container starts without these rules
    try {
        for (const Cgroup &cgroup : cgroups) {
            allow_in(cgroup.fd.get(), rules, part);
            notes.push_back({LogLevel::Debug, name_of(cgroup) + " allows " + to_text(rules)});
        }
        undo.append(std::move(part));
        return notes;
    } catch (const SystemError &error) {
        part.run();
        if (!is_refusal(error.error_number()))
            throw;
        check_above(cgroups.front(), rules);
        return {{LogLevel::Info,
                 name_of(cgroups.front()) +
                     " is not for this process to change, and is left as it is: " + error.what()}};
    }
}

void deny_v1(const std::vector<Cgroup> &cgroups, const DeviceRules &rules)
{
    const Cgroup &topmost = cgroups.front(); // what it lacks those below it lack as well
    for (const DeviceRule &rule : rules)
        write_rule(topmost.fd.get(), "devices.deny", rule);
    const std::string list = read_list(topmost.fd.get());
    for (DeviceRule rule : rules) {
        // Where a rule for all devices lets it make nodes, as runtimes add one, these open nothing.
        for (const unsigned access : {access_read, access_write}) {
            const bool is_meant = (rule.access & access) != 0;
            DeviceRule one = rule;
            one.access = access;
            // A list that begins with all devices does not show which are denied.
            if (is_meant && !list.starts_with("a ") && list_allows(list, one))
                throw Error(ErrorKind::BrokenHost,
                            "another rule of " + name_of(topmost) + " allows " + to_text(one));
        }
    }
}

bool list_allows(std::string_view devices_list, const DeviceRule &rule)
{
    while (!devices_list.empty()) {
        if (covers(parse(next_part(devices_list, '\n')), rule))
            return true;
    }
    return false;
}

unsigned access_in_own_line(std::string_view devices_list, const DeviceRule &rule)
{
    while (!devices_list.empty()) {
        const Line line = parse(next_part(devices_list, '\n'));
        if (line.type == type_of(rule) && is(line.major, rule.major) && is(line.minor, rule.minor))
            return line.access;
    }
    return 0;
}

} // namespace ogh
