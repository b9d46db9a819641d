// SPDX-License-Identifier: Apache-2.0
#include "mount-srv/directory_request.h"

#include "base/error.h"
#include "base/text.h"

namespace ogh::mount_srv {

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

} // namespace ogh::mount_srv
