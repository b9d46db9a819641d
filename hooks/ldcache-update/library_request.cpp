// SPDX-License-Identifier: Apache-2.0
#include "library_request.h"

#include <algorithm>

#include "error.h"
#include "root.h"
#include "text.h"

namespace ogh::ldcache_update {

namespace {

/** The loader's files take folders one a line, and split them at these. */
constexpr std::string_view separators = ":;\n\t\v\f\r =#";

std::string checked_folder(const std::string &folder, const std::string &origin)
{
    const size_t last = folder.find_last_not_of('/');
    const std::string path = folder.substr(0, std::max(last + 1, size_t{1}));
    if (folder.find_first_of(separators) != std::string::npos)
        throw Error(ExitCode::Usage, "the " + origin + " has the folder " + quote(folder) +
                                         ", with a character that the loader's files cannot hold");
    try {
        return InnerPath::parse(path).full();
    } catch (const Error &error) {
        throw Error(ExitCode::Usage, "the " + origin + ": " + error.what());
    }
}

} // namespace

LibraryRequest parse_library_request(const Asked &asked, const std::vector<std::string> &further)
{
    LibraryRequest request;
    if (trimmed(asked.value) == "none")
        return request;
    for (const std::string &item : split_list(asked.value)) {
        if (item.empty() || item == "none")
            throw Error(ExitCode::Usage, "the " + asked.origin + " has " +
                                             (item.empty() ? "an empty name" : "'none' beside others") +
                                             " in " + quote(asked.value) +
                                             "; it takes 'auto', 'none' or absolute folders, "
                                             "separated by commas");
        if (item == "auto")
            request.automatic = true;
        else
            add_folder(request.folders, checked_folder(item, asked.origin));
    }
    for (const std::string &folder : further)
        add_folder(request.folders, checked_folder(folder, "option '--folder'"));
    return request;
}

void add_folder(std::vector<std::string> &folders, const std::string &folder)
{
    if (std::find(folders.begin(), folders.end(), folder) == folders.end())
        folders.push_back(folder);
}

} // namespace ogh::ldcache_update
