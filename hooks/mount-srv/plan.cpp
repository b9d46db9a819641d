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

bool is_writable(const Folder &folder, const Policy &policy)
{
    return policy.writable_by_name && is_writable_name(folder.name);
}

namespace {

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
    for (const Folder &folder : inventory.folders) {
        if (is_allowed(folder.name, policy) && folder.problem.empty())
            names.push_back(folder.name);
    }
    return names.empty() ? "this host offers none" : "this host offers " + quote_list(names);
}

/** @return nullptr if there is none */
const Folder *find_entry(const std::string &name, const Inventory &inventory)
{
    const auto folder = std::lower_bound(
        inventory.folders.begin(), inventory.folders.end(), name,
        [](const Folder &candidate, const std::string &wanted) { return candidate.name < wanted; });
    return folder == inventory.folders.end() || folder->name != name ? nullptr : &*folder;
}

const Folder &find_folder(const std::string &name, const Inventory &inventory, const Policy &policy)
{
    const auto no_folder = [&](ErrorKind kind, const std::string &why) {
        return Error(kind, "no directory " + quote(name) + ": " + about_suffix(name) + why);
    };
    if (!is_allowed(name, policy))
        throw no_folder(ErrorKind::Denied,
                        "the host's policy (--allow) does not allow it; " + offer(inventory, policy));
    if (!inventory.exists)
        throw no_folder(ErrorKind::NotAvailable, "this host has no " + quote(inventory.source_dir));
    const Folder *const folder = find_entry(name, inventory);
    if (folder == nullptr)
        throw no_folder(ErrorKind::NotAvailable, offer(inventory, policy));
    if (!folder->problem.empty())
        throw Error(folder->problem_kind, "no directory " + quote(name) + ": " + folder->problem);
    return *folder;
}

MountEdit mount_of(const Folder &folder, const FolderRequest &request, const Policy &policy)
{
    const bool asked_read_only = request.all_read_only || request.read_only.contains(folder.name);
    const bool writable = is_writable(folder, policy) && !asked_read_only;
    const std::string parent = policy.target_dir == "/" ? "" : policy.target_dir;
    return {folder.host_path, parent + "/" + folder.name, folder.kind, !writable, writable && policy.idmap};
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

std::string why_nothing(const FolderRequest &request, const Inventory &inventory)
{
    return request.all ? quote(inventory.source_dir) + " has no directory to give" : "none was asked for";
}

} // namespace

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

Edits plan(const FolderRequest &request, const Inventory &inventory, const Policy &policy, Notes &notes)
{
    for (const std::string &name : request.names)
        find_folder(name, inventory, policy);
    if (request.all)
        note_what_is_missing(inventory, policy, notes);
    Edits edits;
    for (const Folder &folder : inventory.folders) {
        const bool named = request.names.contains(folder.name);
        if (!named && (!request.all || !is_allowed(folder.name, policy)))
            continue;
        if (folder.problem.empty())
            edits.mounts.push_back(mount_of(folder, request, policy));
        else
            notes.push_back({LogLevel::Warning, quote(folder.name) + " is left out: " + folder.problem});
    }
    if (edits.mounts.empty() && (inventory.exists || !request.all))
        notes.push_back({LogLevel::Info, "nothing to do: " + why_nothing(request, inventory)});
    return edits;
}

HostListing list_folders(const Inventory &inventory, const Policy &policy)
{
    HostListing list{"folders", {}, {"name", "access", "path", "state"}, {}};
    list.none = "nothing in " + quote(inventory.source_dir) + " can be given";
    for (const Folder &folder : inventory.folders) {
        const std::string state = is_allowed(folder.name, policy) ? folder.problem : "not allowed";
        list.rows.push_back({folder.name, is_writable(folder, policy) ? "writable" : "read-only",
                             known(folder.host_path), state});
    }
    return list;
}

} // namespace ogh::mount_srv
