// SPDX-License-Identifier: Apache-2.0
#include <string>

#include "edits/inner_path.h"
#include "promise.h"
#include "target.h"

namespace ogh::fuzz::inner_path {

namespace {

bool contains(std::string_view text, std::string_view part)
{
    return text.find(part) != std::string_view::npos;
}

/** Absolute, and no walk along it could end anywhere but where it says. */
bool is_plain_path(const std::string &path)
{
    const std::string closed = path + "/";
    return path.starts_with('/') && !contains(path, std::string_view("\0", 1)) && !contains(closed, "//") &&
           !contains(closed, "/./") && !contains(closed, "/../");
}

} // namespace

void check(std::string_view input)
{
    const std::string path(input);
    const auto outcome = attempt([&] { return InnerPath::parse(path); });
    require(outcome.value.has_value() == is_plain_path(path), "plain paths are taken apart, and no others");
    if (!outcome.value) {
        require(outcome.kind == ErrorKind::Usage, "a path is refused as a wrong use");
        return;
    }
    const auto &[parent, name] = *outcome.value;
    require(!name.empty() && name != "." && name != ".." && !contains(name, "/"), "a name is one name");
    require(outcome.value->full() == path, "the parts make the whole");
    require(parent == "/" || InnerPath::parse(parent).full() == parent, "the parent is the root or a path");
}

} // namespace ogh::fuzz::inner_path
