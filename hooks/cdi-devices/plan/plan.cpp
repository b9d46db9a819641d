// SPDX-License-Identifier: Apache-2.0
#include "cdi-devices/plan/plan.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <set>
#include <string_view>
#include <utility>

#include "base/contains.h"
#include "base/error.h"
#include "base/text.h"
#include "cdi-devices/plan/driver_plan.h"
#include "cdi-devices/plan/mount_plan.h"
#include "cdi-devices/plan/node_plan.h"
#include "edits/inner_path.h"
#include "libraries/loader_plan.h"

namespace ogh::cdi_devices {

namespace {

/** Variables that only keep the vendor's own tools from doing the same: without them nothing is missing. */
constexpr auto needless = std::to_array<std::string_view>({"NVIDIA_VISIBLE_DEVICES=void"});
constexpr std::string_view vendors_own = "NVIDIA_CTK_LIBCUDA_DIR=";

bool is_needless(const std::string &variable)
{
    return contains(needless, variable) || variable.starts_with(vendors_own);
}

template<typename List, typename Text>
void add_missing(std::string &missing, const char *what, const List &list, const Text &text)
{
    std::string items;
    for (const auto &item : list)
        items += (items.empty() ? "" : ", ") + text(item);
    if (!items.empty())
        missing += (missing.empty() ? "" : "; ") + std::string(what) + " " + items;
}

/** One warning of what only who writes config.json could do. */
void note_missing(const PlanInputs &inputs, Notes &notes)
{
    const cdi::ContainerEdits &edits = inputs.edits;
    std::vector<std::string> variables;
    std::copy_if(edits.env.begin(), edits.env.end(), std::back_inserter(variables),
                 [&](const std::string &variable) {
                     return !is_needless(variable) && !contains(inputs.environment, variable);
                 });
    std::vector<std::uint32_t> groups = edits.groups;
    std::erase(groups, 0U);
    std::string missing;
    add_missing(missing, "the environment", variables, [](const std::string &text) { return quote(text); });
    add_missing(missing, "the groups", groups, [](std::uint32_t group) { return std::to_string(group); });
    if (!variables.empty() && inputs.require_env)
        throw Error(ErrorKind::Denied,
                    "the container lacks what the specification says of the environment, and a "
                    "hook cannot give it (--require-env): " +
                        quote_list(variables) + "; start it with these");
    if (!missing.empty())
        notes.push_back({LogLevel::Warning, "a hook cannot give a container what the specification says of " +
                                                missing + "; start it with them if they are needed"});
}

void refuse_impossible(const cdi::ContainerEdits &edits)
{
    if (edits.intel_rdt || !edits.net_devices.empty())
        throw Error(ErrorKind::Denied, std::string("a specification has ") +
                                           (edits.intel_rdt ? "'intelRdt'" : "'netDevices'") +
                                           ", which only a runtime can do");
}

/** What depends on the image: files of its loaders, and the profile for EGL. */
void plan_image(const PlanInputs &inputs, Edits &planned, Notes &notes)
{
    const VendorActions &actions = inputs.actions;
    const Image &image = inputs.image;
    LoaderImage loader = image.loader;
    if (!image.compat.empty())
        loader.directories.insert(loader.directories.end(), image.compat_directories.begin(),
                                  image.compat_directories.end());
    loader.directories.insert(loader.directories.end(), actions.library_directories.begin(),
                              actions.library_directories.end());
    loader.libraries = added_libraries(actions.library_directories, inputs.files.libraries, planned.links,
                                       image.compat, notes);
    loader.has_all_libraries = false;
    if (!loader.directories.empty())
        planned.files = plan_loader_files(loader, inputs.is_read_only, notes).files;
    if (!actions.limits_egl)
        return;
    if (auto file = plan_egl_profile(planned.nodes, image.gpus, image.egl_profile, notes))
        planned.files.push_back(std::move(*file));
}

/** The name in the directory that a link leads to; "" if it leads out of it. */
std::string name_behind(const LinkEdit &link, const std::string &directory)
{
    std::string target = link.target;
    if (target.starts_with(directory + "/"))
        target.erase(0, directory.size() + 1);
    return target.find('/') == std::string::npos ? target : "";
}

/** Adds the links, which may lead to each other. */
void add_links(const std::string &directory, const std::vector<LinkEdit> &links,
               std::vector<FoundFile> &files)
{
    for (bool has_more = true; has_more;) {
        has_more = false;
        for (const LinkEdit &link : links) {
            const InnerPath path = InnerPath::parse(link.container_path);
            const auto has_name = [&](const std::string &name) {
                return std::find_if(files.begin(), files.end(),
                                    [&](const FoundFile &file) { return file.name == name; });
            };
            if (path.parent != directory || !is_library_name(path.name) || has_name(path.name) != files.end())
                continue;
            const auto file = has_name(name_behind(link, directory));
            if (file == files.end())
                continue;
            FoundFile alias = *file;
            alias.name = path.name;
            alias.is_link = true;
            files.push_back(std::move(alias));
            has_more = true;
        }
    }
}

} // namespace

Edits plan(const PlanInputs &inputs, Notes &notes)
{
    const HostFiles &files = inputs.files;
    refuse_impossible(inputs.edits);
    Edits planned;
    planned.links = inputs.actions.links;
    planned.nodes = plan_nodes(inputs.edits, files, inputs.user);
    for (const cdi::Mount &mount : inputs.edits.mounts)
        if (const HostFile &host = files.mounts.at(mount.host_path); !is_device(host))
            planned.mounts.push_back(plan_mount(mount, host, inputs.writable, files.driver_version));
    change_modes(inputs.actions.modes, planned.nodes);
    if (files.driver_proc)
        planned.proc = plan_driver_proc(*files.driver_proc);
    note_missing(inputs, notes);
    if (needs_image(inputs.actions))
        plan_image(inputs, planned, notes);
    return planned;
}

std::vector<AddedLibrary> added_libraries(const std::vector<std::string> &directories,
                                          const DirectoryFiles &files, const std::vector<LinkEdit> &links,
                                          const std::vector<AddedLibrary> &preferred, Notes &notes)
{
    std::vector<AddedLibrary> all = preferred;
    std::set<std::pair<std::string, std::int32_t>> known;
    for (const AddedLibrary &library : all)
        known.emplace(library.name, library.flags);
    for (const std::string &directory : directories) {
        std::vector<FoundFile> found = files.at(directory);
        add_links(directory, links, found);
        std::vector<AddedLibrary> libraries = choose_libraries(directory, "", found, notes);
        add_file_names(directory, found, libraries);
        for (AddedLibrary &library : libraries)
            if (known.emplace(library.name, library.flags).second)
                all.push_back(std::move(library));
    }
    return all;
}

} // namespace ogh::cdi_devices
