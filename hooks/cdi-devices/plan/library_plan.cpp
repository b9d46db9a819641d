// SPDX-License-Identifier: Apache-2.0
#include "cdi-devices/plan/library_plan.h"

#include <algorithm>
#include <set>
#include <utility>

#include "edits/inner_path.h"

namespace ogh::cdi_devices {

namespace {

/** The name in the folder that a link leads to; "" if it leads out of it. */
std::string name_behind(const LinkEdit &link, const std::string &folder)
{
    std::string target = link.target;
    if (target.starts_with(folder + "/"))
        target.erase(0, folder.size() + 1);
    return target.find('/') == std::string::npos ? target : "";
}

/** Adds the links, which may lead to each other. */
void add_links(const std::string &folder, const std::vector<LinkEdit> &links, std::vector<FoundFile> &files)
{
    for (bool has_more = true; has_more;) {
        has_more = false;
        for (const LinkEdit &link : links) {
            const InnerPath path = InnerPath::parse(link.container_path);
            const auto has_name = [&](const std::string &name) {
                return std::find_if(files.begin(), files.end(),
                                    [&](const FoundFile &file) { return file.name == name; });
            };
            if (path.parent != folder || !is_library_name(path.name) || has_name(path.name) != files.end())
                continue;
            const auto file = has_name(name_behind(link, folder));
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

std::vector<AddedLibrary> added_libraries(const std::vector<std::string> &folders, const FolderFiles &files,
                                          const std::vector<LinkEdit> &links,
                                          const std::vector<AddedLibrary> &preferred, Notes &notes)
{
    std::vector<AddedLibrary> all = preferred;
    std::set<std::pair<std::string, std::int32_t>> known;
    for (const AddedLibrary &library : all)
        known.emplace(library.name, library.flags);
    for (const std::string &folder : folders) {
        std::vector<FoundFile> found = files.at(folder);
        add_links(folder, links, found);
        std::vector<AddedLibrary> libraries = choose_libraries(folder, "", found, notes);
        add_file_names(folder, found, libraries);
        for (AddedLibrary &library : libraries)
            if (known.emplace(library.name, library.flags).second)
                all.push_back(std::move(library));
    }
    return all;
}

} // namespace ogh::cdi_devices
