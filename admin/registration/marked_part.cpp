// SPDX-License-Identifier: Apache-2.0
#include "registration/marked_part.h"

#include "base/error.h"
#include "base/text.h"

namespace ogh::admin {

namespace {

std::string first_line(const std::string &name)
{
    return "# Written by oci-gpu-hooks install: " + name + ", up to the line that says its end.\n";
}

std::string last_line_of(const std::string &name)
{
    return "# The end of what oci-gpu-hooks install has written: " + name + ".\n";
}

/** Where a whole line begins. @return npos if it is not there */
size_t find_line(const std::string &text, const std::string &line)
{
    for (size_t at = text.find(line); at != std::string::npos; at = text.find(line, at + 1))
        if (at == 0 || text[at - 1] == '\n')
            return at;
    return std::string::npos;
}

struct Place {
    size_t begin;
    size_t length;
};

std::optional<Place> find_part(const std::string &text, const std::string &name)
{
    const std::string last = last_line_of(name);
    const size_t begin = find_line(text, first_line(name));
    const size_t end = find_line(text, last);
    if (begin == std::string::npos && end == std::string::npos)
        return std::nullopt;
    if (begin == std::string::npos || end == std::string::npos || end < begin)
        throw Error(ErrorKind::BrokenHost,
                    "of the two lines around what was written for " + quote(name) +
                        " one is missing: remove the other one, and what belongs to it");
    return Place{begin, end + last.size() - begin};
}

} // namespace

std::string marked(const std::string &name, const std::string &text)
{
    return first_line(name) + text + last_line_of(name);
}

std::optional<std::string> part_in(const std::string &text, const std::string &name)
{
    const auto place = find_part(text, name);
    return place ? std::optional(text.substr(place->begin, place->length)) : std::nullopt;
}

std::string with_part(const std::string &text, const std::string &name, const std::string &part)
{
    std::string changed = text;
    if (const auto place = find_part(text, name))
        return changed.replace(place->begin, place->length, part);
    if (!part.empty() && !text.empty() && text.back() != '\n')
        changed += '\n';
    return changed + part;
}

} // namespace ogh::admin
