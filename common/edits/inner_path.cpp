// SPDX-License-Identifier: Apache-2.0
#include "edits/inner_path.h"

#include <algorithm>
#include <string_view>

#include "base/error.h"
#include "base/text.h"

namespace ogh {

InnerPath InnerPath::parse(const std::string &path)
{
    const auto refused = [&](const char *why) {
        return Error(ErrorKind::Usage, "the path " + quote(path) + " in the container " + why);
    };
    if (!path.starts_with('/') || path.find('\0') != std::string::npos)
        throw refused("is not absolute");
    InnerPath inner{"", ""};
    for (size_t start = 1; start <= path.size();) {
        const size_t end = std::min(path.find('/', start), path.size());
        const std::string_view name = std::string_view(path).substr(start, end - start);
        if (name.empty() || name == "." || name == "..")
            throw refused("has an empty component, '.' or '..'");
        if (!inner.name.empty())
            (inner.parent += '/') += inner.name;
        inner.name = name;
        start = end + 1;
    }
    if (inner.name.empty())
        throw refused("is the root itself");
    if (inner.parent.empty())
        inner.parent = "/";
    return inner;
}

std::string InnerPath::full() const
{
    std::string full;
    full.reserve(parent.size() + 1 + name.size());
    if (parent != "/")
        full = parent;
    return (full += '/') += name;
}

InnerPath InnerPath::temporary() const
{
    return {parent, ".oci-gpu-hooks-" + name}; // where it is too long the kernel says so
}

} // namespace ogh
