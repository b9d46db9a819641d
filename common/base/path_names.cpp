// SPDX-License-Identifier: Apache-2.0
#include "base/path_names.h"

#include <algorithm>

namespace ogh {

std::string directory_of(const std::string &path)
{
    const size_t slash = path.rfind('/');
    return slash == 0 ? "/" : path.substr(0, slash);
}

std::string file_name_of(const std::string &path)
{
    return path.substr(path.rfind('/') + 1); // npos + 1 is 0
}

bool is_at_or_below(std::string_view lower, std::string_view upper)
{
    return lower.starts_with(upper) &&
           (lower.size() == upper.size() || upper == "/" || lower[upper.size()] == '/');
}

std::string without_dots(std::string_view path)
{
    std::string clean;
    while (!path.empty()) {
        const size_t end = std::min(path.find('/'), path.size());
        const std::string_view name = path.substr(0, end);
        path.remove_prefix(std::min(end + 1, path.size()));
        if (name == "..")
            clean.resize(clean.empty() ? 0 : clean.rfind('/'));
        else if (!name.empty() && name != ".")
            clean.append("/").append(name);
    }
    return clean.empty() ? "/" : clean;
}

std::string path_in(const std::string &directory, std::string_view name)
{
    return (directory == "/" ? "" : directory) + "/" + std::string(name);
}

} // namespace ogh
