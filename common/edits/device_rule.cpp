// SPDX-License-Identifier: Apache-2.0
#include "edits/device_rule.h"

#include <algorithm>
#include <tuple>

#include "base/error.h"
#include "base/number.h"

namespace ogh {

std::string access_text(unsigned access)
{
    std::string text;
    if ((access & access_read) != 0)
        text += 'r';
    if ((access & access_write) != 0)
        text += 'w';
    if ((access & access_mknod) != 0)
        text += 'm';
    return text;
}

std::string to_text(const DeviceRule &rule)
{
    return (rule.type == DeviceRule::Type::Char ? "c " : "b ") + std::to_string(rule.major) + ":" +
           std::to_string(rule.minor) + " " + access_text(rule.access);
}

std::string to_text(const DeviceRules &rules)
{
    std::string text;
    for (const DeviceRule &rule : rules)
        text += (text.empty() ? "" : ", ") + to_text(rule);
    return text;
}

DeviceRules checked(DeviceRules rules)
{
    for (const DeviceRule &rule : rules) {
        const unsigned unknown = rule.access & ~(access_mknod | access_read | access_write);
        if (rule.major > max_major || rule.minor > max_minor || rule.access == 0 || unknown != 0)
            throw Error(ErrorKind::Failure, "no device cgroup takes the rule " + to_text(rule));
    }
    const auto key = [](const DeviceRule &rule) {
        return std::tuple(rule.type, rule.major, rule.minor, rule.access);
    };
    std::sort(rules.begin(), rules.end(),
              [&](const DeviceRule &a, const DeviceRule &b) { return key(a) < key(b); });
    rules.erase(std::unique(rules.begin(), rules.end()), rules.end());
    return rules;
}

} // namespace ogh
