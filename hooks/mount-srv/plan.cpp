// SPDX-License-Identifier: Apache-2.0
#include "mount-srv/plan.h"

#include <algorithm>

#include "base/error.h"
#include "base/text.h"

namespace ogh::mount_srv {

bool is_allowed(const std::string &name, const Policy &policy)
{
    return !policy.allow || policy.allow->contains(name);
}

bool is_writable(const Directory &directory, const Policy &policy)
{
    return policy.writable_by_name && is_writable_name(directory.name);
}

namespace {

constexpr std::string_view read_only_suffix = ":ro";

void check_name(const std::string &name, const RequestValue &asked)
{
    const auto refused = [&](const std::string &why) {
        return Error(ErrorKind::Usage,
                     "the " + asked.origin + " " + why + " in " + quote(asked.value) +
                         "; it takes 'all', 'none' or directory names, separated by commas");
    };
    if (name == "none")
        throw refused("has 'none' beside others");
    if (name.empty())
        throw refused("has an empty name");
    if (name == "." || name == ".." || name.find('/') != std::string::npos ||
        name.find('\0') != std::string::npos)
        throw refused("has " + quote(name) + ", which is no directory name,");
}

/** For who writes what engines take for volumes: "", or what to do instead, in front of what else is to be said. */
std::string about_suffix(const std::string &name)
{
    const size_t colon = name.rfind(':');
    if (colon == std::string::npos || name.substr(colon) == ":ro")
        return "";
    return "behind a name only ':ro' is understood, and what is writable is so by its name, without " +
           quote(name.substr(colon)) + "; ";
}

/** What may be asked for here, whole, so that it can be pasted back. */
std::string offer(const Inventory &inventory, const Policy &policy)
{
    std::vector<std::string> names;
    for (const Directory &directory : inventory.directories) {
        if (is_allowed(directory.name, policy) && directory.problem.empty())
            names.push_back(directory.name);
    }
    return names.empty() ? "this host offers none" : "this host offers " + quote_list(names);
}

/** @return nullptr if there is none */
const Directory *find_entry(const std::string &name, const Inventory &inventory)
{
    const auto directory = std::lower_bound(
        inventory.directories.begin(), inventory.directories.end(), name,
        [](const Directory &candidate, const std::string &wanted) { return candidate.name < wanted; });
    return directory == inventory.directories.end() || directory->name != name ? nullptr : &*directory;
}

const Directory &find_directory(const std::string &name, const Inventory &inventory, const Policy &policy)
{
    const auto no_directory = [&](ErrorKind kind, const std::string &why) {
        return Error(kind, "no directory " + quote(name) + ": " + about_suffix(name) + why);
    };
    if (!is_allowed(name, policy))
        throw no_directory(ErrorKind::Denied,
                           "the host's policy (--allow) does not allow it; " + offer(inventory, policy));
    if (!inventory.exists)
        throw no_directory(ErrorKind::NotAvailable, "this host has no " + quote(inventory.source_dir));
    const Directory *const directory = find_entry(name, inventory);
    if (directory == nullptr)
        throw no_directory(ErrorKind::NotAvailable, offer(inventory, policy));
    if (!directory->problem.empty())
        throw Error(directory->problem_kind, "no directory " + quote(name) + ": " + directory->problem);
    return *directory;
}

MountEdit mount_of(const Directory &directory, const DirectoryRequest &request, const Policy &policy)
{
    const bool asked_read_only = request.all_read_only || request.read_only.contains(directory.name);
    const bool writable = is_writable(directory, policy) && !asked_read_only;
    const std::string parent = policy.target_dir == "/" ? "" : policy.target_dir;
    return {directory.host_path, parent + "/" + directory.name, directory.kind, !writable,
            writable && policy.idmap};
}

/** A mistake in the host's options would otherwise be a container without its data. */
void note_what_is_missing(const Inventory &inventory, const Policy &policy, Notes &notes)
{
    if (!inventory.exists) {
        notes.push_back({LogLevel::Warning, "the source directory " + quote(inventory.source_dir) +
                                                " does not exist: there is nothing to give"});
        return;
    }
    std::vector<std::string> absent;
    for (const std::string &name : policy.allow.value_or(std::set<std::string>())) {
        if (find_entry(name, inventory) == nullptr)
            absent.push_back(name);
    }
    if (!absent.empty())
        notes.push_back({LogLevel::Warning, "--allow names what " + quote(inventory.source_dir) +
                                                " does not have: " + quote_list(absent)});
}

std::string why_nothing(const DirectoryRequest &request, const Inventory &inventory)
{
    return request.all ? quote(inventory.source_dir) + " has no directory to give" : "none was asked for";
}

} // namespace

DirectoryRequest parse_directory_request(const RequestValue &asked)
{
    DirectoryRequest request;
    if (trimmed(asked.value) == "none")
        return request;
    for (std::string name : split_list(asked.value)) {
        const bool read_only = name.ends_with(read_only_suffix);
        if (read_only)
            name = trimmed(std::string_view(name).substr(0, name.size() - read_only_suffix.size()));
        check_name(name, asked);
        if (name == "all") {
            request.all = true;
            request.all_read_only = request.all_read_only || read_only;
            continue;
        }
        request.names.insert(name);
        if (read_only)
            request.read_only.insert(name);
    }
    return request;
}

std::set<std::string> parse_allow(const std::string &list)
{
    std::set<std::string> names;
    for (const std::string &name : split_list(list)) {
        if (name.empty())
            throw Error(ErrorKind::Usage, "--allow has an empty name in " + quote(list));
        names.insert(name);
    }
    return names;
}

void limit(Policy &policy, const std::string &list)
{
    std::set<std::string> both = parse_allow(list);
    if (policy.allow)
        std::erase_if(both, [&](const std::string &name) { return !policy.allow->contains(name); });
    policy.allow = std::move(both);
}

Edits plan(const DirectoryRequest &request, const Inventory &inventory, const Policy &policy, Notes &notes)
{
    for (const std::string &name : request.names)
        find_directory(name, inventory, policy);
    if (request.all)
        note_what_is_missing(inventory, policy, notes);
    Edits edits;
    for (const Directory &directory : inventory.directories) {
        const bool named = request.names.contains(directory.name);
        if (!named && (!request.all || !is_allowed(directory.name, policy)))
            continue;
        if (directory.problem.empty())
            edits.mounts.push_back(mount_of(directory, request, policy));
        else
            notes.push_back(
                {LogLevel::Warning, quote(directory.name) + " is left out: " + directory.problem});
    }
    if (edits.mounts.empty() && (inventory.exists || !request.all))
        notes.push_back({LogLevel::Info, "nothing to do: " + why_nothing(request, inventory)});
    return edits;
}

HostListing list_directories(const Inventory &inventory, const Policy &policy)
{
    HostListing list{{"directories", {"name", "access", "path", "state"}}};
    list.none = "nothing in " + quote(inventory.source_dir) + " can be given";
    for (const Directory &directory : inventory.directories) {
        const std::string state = is_allowed(directory.name, policy) ? directory.problem : "not allowed";
        list.rows.push_back({directory.name, is_writable(directory, policy) ? "writable" : "read-only",
                             known(directory.host_path), state});
    }
    return list;
}

} // namespace ogh::mount_srv
