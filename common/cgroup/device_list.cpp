// SPDX-License-Identifier: Apache-2.0
#include "cgroup/device_list.h"

#include <algorithm>
#include <string>
#include <vector>

#include "base/text.h"

namespace ogh {

namespace {

struct Line {
    std::string type;
    std::string major;
    std::string minor;
    unsigned access = 0;
};

unsigned access_of(const std::string &letters)
{
    unsigned access = 0;
    for (const char letter : letters) {
        if (letter == 'r')
            access |= access_read;
        if (letter == 'w')
            access |= access_write;
        if (letter == 'm')
            access |= access_mknod;
    }
    return access;
}

/** What has another form becomes a line that allows nothing. */
Line parse(const std::string &text)
{
    const std::vector<std::string> words = split_list(text, ' ');
    const std::vector<std::string> numbers = words.size() == 3 ? split_list(words[1], ':') : words;
    if (words.size() != 3 || numbers.size() != 2)
        return {};
    return {words[0], numbers[0], numbers[1], access_of(words[2])};
}

std::string type_of(const DeviceRule &rule)
{
    return rule.type == DeviceRule::Type::Char ? "c" : "b";
}

bool is_all_or(const std::string &text, const std::string &value)
{
    return text == "*" || text == value;
}

bool covers(const Line &line, const DeviceRule &rule)
{
    return (line.type == "a" || line.type == type_of(rule)) &&
           is_all_or(line.major, std::to_string(rule.major)) &&
           is_all_or(line.minor, std::to_string(rule.minor)) && (rule.access & ~line.access) == 0;
}

std::vector<Line> lines_of(std::string_view devices_list)
{
    std::vector<Line> lines;
    for (const std::string &text : split_list(devices_list, '\n'))
        lines.push_back(parse(text));
    return lines;
}

} // namespace

bool list_allows(std::string_view devices_list, const DeviceRule &rule)
{
    const std::vector<Line> lines = lines_of(devices_list);
    return std::any_of(lines.begin(), lines.end(), [&](const Line &line) { return covers(line, rule); });
}

unsigned access_in_own_line(std::string_view devices_list, const DeviceRule &rule)
{
    for (const Line &line : lines_of(devices_list)) {
        if (line.type == type_of(rule) && line.major == std::to_string(rule.major) &&
            line.minor == std::to_string(rule.minor))
            return line.access;
    }
    return 0;
}

} // namespace ogh
