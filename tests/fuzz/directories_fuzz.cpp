// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "mount-srv/inventory.h"
#include "mount-srv/plan.h"
#include "promise.h"
#include "target.h"

namespace ogh::fuzz::directories {

using namespace mount_srv;

namespace {

/** A host with a directory for each thing that a name can do to a parser. */
Inventory make_inventory()
{
    const std::vector<std::string> names = {
        "all",  "a b",      "datasets", "models", "n\nl",    "out_rw",    "...",
        "it's", "\xff\xfe", "größe",    "x:ro",   "x:ro:ro", "scratch",   "_rw",
        "y_rw", "C:",       ":",        "-",      "x_ro",    "_writable", "a_writable_b"};
    Inventory inventory{"/srv", true, {}};
    for (const std::string &name : names)
        inventory.directories.push_back({name, "/data/of " + name, Kind::Directory, "", ErrorKind::None});
    inventory.directories.push_back({"file", "/data/file", Kind::File, "", ErrorKind::None});
    inventory.directories.push_back({"file_rw", "/data/file_rw", Kind::File, "", ErrorKind::None});
    inventory.directories.push_back(
        {"broken", "", Kind::Directory, "its symlink leads nowhere", ErrorKind::NotAvailable});
    inventory.directories.push_back(
        {"broken_rw", "", Kind::File, "its symlink cannot be trusted", ErrorKind::BrokenHost});
    std::sort(inventory.directories.begin(), inventory.directories.end(),
              [](const Directory &a, const Directory &b) { return a.name < b.name; });
    return inventory;
}

const std::vector<Policy> policies = {
    {"/srv", true, false, {}},
    {"/", true, true, {}},
    {"/srv", false, true, {}},
    {"/in/the container", true, false,
     std::set<std::string>{"all", "datasets", "out_rw", "absent", "broken"}},
    {"/srv", true, false, std::set<std::string>{}},
};

void check_grammar(const DirectoryRequest &request, const std::string &value)
{
    require(request.all || !request.all_read_only, "all:ro is all");
    std::string again = request.all ? (request.all_read_only ? "all:ro" : "all") : "";
    if (!request.all && request.names.empty()) {
        require(value.find("none") != std::string::npos, "nothing is asked for only by its name");
        again = "none";
    }
    for (const std::string &name : request.names) {
        const bool is_one_name = name.find_first_of(std::string_view("/,\0", 3)) == std::string::npos;
        require(!name.empty() && is_one_name && name != "." && name != ".." && name != "all" &&
                    name != "none",
                "a name is one name");
        require(value.find(name) != std::string::npos, "a name was asked for");
        again += (again.empty() ? "" : ", ") + name + (request.read_only.contains(name) ? ":ro" : "");
    }
    require(std::includes(request.names.begin(), request.names.end(), request.read_only.begin(),
                          request.read_only.end()),
            "what is read-only was asked for");
    require(parse_directory_request({again, "request"}) == request, "a request can be written down again");
}

const Directory *find(const Inventory &inventory, const std::string &name)
{
    const auto found = std::find_if(inventory.directories.begin(), inventory.directories.end(),
                                    [&](const Directory &directory) { return directory.name == name; });
    return found == inventory.directories.end() ? nullptr : &*found;
}

/** The kind of error with which a name is refused, None if it is not. */
ErrorKind verdict(const std::string &name, const Inventory &inventory, const Policy &policy)
{
    const Directory *directory = find(inventory, name);
    if (policy.allow && !policy.allow->contains(name))
        return ErrorKind::Denied;
    if (!inventory.exists || directory == nullptr)
        return ErrorKind::NotAvailable;
    return directory->problem_kind;
}

void check_mount(const MountEdit &mount, const Directory &directory, const DirectoryRequest &request,
                 const Policy &policy)
{
    const std::string parent = policy.target_dir == "/" ? "" : policy.target_dir;
    require(mount.container_path == parent + "/" + directory.name,
            "a directory appears by its name, in the target directory");
    require(mount.host_path == directory.host_path && mount.kind == directory.kind,
            "a directory is what its name says");
    const std::string &name = directory.name;
    const bool writable = name.ends_with("_rw") || name.find("_writable") != std::string::npos;
    const bool refused =
        !policy.writable_by_name || request.all_read_only || request.read_only.contains(name);
    require(mount.read_only == (!writable || refused),
            "writable is what is so by name, unless somebody refuses");
    require(mount.idmap == (policy.idmap && !mount.read_only), "owners are mapped where they matter");
}

void check_edits(const Edits &edits, const DirectoryRequest &request, const Inventory &inventory,
                 const Policy &policy)
{
    auto mount = edits.mounts.begin();
    for (const Directory &directory : inventory.directories) {
        const bool asked = request.all || request.names.contains(directory.name);
        if (!asked || verdict(directory.name, inventory, policy) != ErrorKind::None)
            continue;
        require(mount != edits.mounts.end(), "what is asked for and allowed is mounted");
        check_mount(*mount++, directory, request, policy);
    }
    require(mount == edits.mounts.end(), "nothing else is mounted");
    const auto printed = nlohmann::json::parse(to_json(edits));
    const auto &planned = printed.at("devices").at(0).at("containerEdits");
    require(planned.at("mounts").size() == edits.mounts.size(), "the plan is JSON");
}

void check_plan(const DirectoryRequest &request, const Inventory &inventory, const Policy &policy)
{
    Notes notes;
    const auto outcome = attempt([&] { return plan(request, inventory, policy, notes); });
    for (const Note &note : notes)
        require(is_one_clean_line(note.text), "a note is one clean line");
    for (const std::string &name : request.names) {
        const ErrorKind expected = verdict(name, inventory, policy);
        if (expected != ErrorKind::None) {
            require(!outcome.value && outcome.kind == expected, "a name that cannot be given is refused");
            return;
        }
    }
    require(outcome.value.has_value(), "what can be given is not refused");
    check_edits(*outcome.value, request, inventory, policy);
}

} // namespace

void check(std::string_view input)
{
    static const Inventory inventory = make_inventory();
    static const Inventory none{"/srv", false, {}};
    const std::string value(input);
    const auto outcome = attempt([&] { return parse_directory_request({value, "request"}); });
    if (!outcome.value) {
        require(outcome.kind == ErrorKind::Usage, "a request is refused as a wrong use");
        return;
    }
    check_grammar(*outcome.value, value);
    for (const Policy &policy : policies) {
        check_plan(*outcome.value, inventory, policy);
        check_plan(*outcome.value, none, policy);
    }
}

} // namespace ogh::fuzz::directories
