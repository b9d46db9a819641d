// SPDX-License-Identifier: Apache-2.0
#include "ldcache-update/library_request.h"

#include <algorithm>

#include "base/error.h"
#include "base/text.h"
#include "edits/inner_path.h"
#include "libraries/loader_file.h"

namespace ogh::ldcache_update {

namespace {

std::string checked_folder(const std::string &folder, const std::string &origin)
{
    const size_t last = folder.find_last_not_of('/');
    const std::string path = folder.substr(0, std::max(last + 1, size_t{1}));
    if (!can_be_in_loader_files(folder))
        throw Error(ErrorKind::Usage, "the " + origin + " has the directory " + quote(folder) +
                                          ", with a character that the loader's files cannot hold");
    try {
        return InnerPath::parse(path).full();
    } catch (const Error &error) {
        throw error.as(ErrorKind::Usage, "the " + origin);
    }
}

} // namespace

LibraryRequest parse_library_request(const RequestValue &asked, const std::vector<std::string> &further)
{
    LibraryRequest request;
    if (trimmed(asked.value) == "none")
        return request;
    for (const std::string &item : split_list(asked.value)) {
        if (item.empty() || item == "none")
            throw Error(ErrorKind::Usage, "the " + asked.origin + " has " +
                                              (item.empty() ? "an empty name" : "'none' beside others") +
                                              " in " + quote(asked.value) +
                                              "; it takes 'auto', 'none' or absolute directories, "
                                              "separated by commas");
        if (item == "auto")
            request.automatic = true;
        else
            request.folders.push_back(checked_folder(item, asked.origin));
    }
    for (const std::string &folder : further)
        request.folders.push_back(checked_folder(folder, "option '--folder'"));
    request.folders = without_repeats(request.folders);
    if (request.folders.size() > max_folders)
        throw Error(ErrorKind::Usage,
                    "the " + asked.origin + " has more than " + std::to_string(max_folders) + " directories");
    return request;
}

} // namespace ogh::ldcache_update
