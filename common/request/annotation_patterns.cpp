// SPDX-License-Identifier: Apache-2.0
#include "request/annotation_patterns.h"

#include <fnmatch.h>

#include <map>

#include "base/error.h"
#include "base/text.h"

namespace ogh {

void check_patterns(const std::vector<std::string> &patterns, const std::string &option)
{
    for (const std::string &each : patterns) {
        const size_t end = each.find('=');
        if (end == 0 || end == std::string::npos)
            throw Error(ErrorKind::Usage, option + " needs NAME=PATTERN, not " + quote(each));
    }
}

std::string key_of_pattern(const std::string &pattern)
{
    return pattern.substr(0, pattern.find('='));
}

std::string unmet_key(const Config &config, const std::vector<std::string> &patterns)
{
    std::map<std::string, bool> matched;
    for (const std::string &each : patterns) {
        const std::string key = key_of_pattern(each);
        const auto value = config.annotations.find(key);
        const std::string pattern = each.substr(key.size() + 1);
        matched[key] = matched[key] || (value != config.annotations.end() &&
                                        ::fnmatch(pattern.c_str(), value->second.c_str(), 0) == 0);
    }
    for (const auto &[key, fine] : matched) {
        if (!fine)
            return key;
    }
    return "";
}

} // namespace ogh
