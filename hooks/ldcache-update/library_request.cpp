// SPDX-License-Identifier: Apache-2.0
#include "ldcache-update/library_request.h"

#include <algorithm>

#include "base/error.h"
#include "base/text.h"
#include "edits/inner_path.h"
#include "libraries/loader_file.h"

namespace ogh::ldcache_update {

namespace {

std::string checked_directory(const std::string &directory, const std::string &origin)
{
    const size_t last = directory.find_last_not_of('/');
    const std::string path = directory.substr(0, std::max(last + 1, size_t{1}));
    if (!can_be_in_loader_files(directory))
        throw Error(ErrorKind::Usage, "the " + origin + " has the directory " + quote(directory) +
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
            request.directories.push_back(checked_directory(item, asked.origin));
    }
    for (const std::string &directory : further)
        request.directories.push_back(checked_directory(directory, "option '--directory'"));
    request.directories = without_repeats(request.directories);
    if (request.directories.size() > max_directories)
        throw Error(ErrorKind::Usage, "the " + asked.origin + " has more than " +
                                          std::to_string(max_directories) + " directories");
    return request;
}

} // namespace ogh::ldcache_update
