// SPDX-License-Identifier: Apache-2.0
#include "request/observers.h"

#include <algorithm>
#include <set>

#include "base/error.h"
#include "base/text.h"
#include "request/annotation_patterns.h"
#include "request/annotations.h"

namespace ogh {

namespace {

std::set<std::string> engines_keys(const std::vector<std::string> &patterns)
{
    std::set<std::string> keys;
    for (const std::string &each : patterns) {
        if (std::string key = key_of_pattern(each); is_engines_annotation(key))
            keys.insert(std::move(key));
    }
    return keys;
}

} // namespace

void check_observers(const std::vector<std::string> &patterns)
{
    constexpr const char *option = "--observer";
    check_patterns(patterns, option);
    if (!patterns.empty() && engines_keys(patterns).size() != 1)
        throw Error(
            ErrorKind::Usage,
            std::string(option) +
                " needs the namespace, by the annotation that this host's engine writes: "
                "'io.kubernetes.cri.sandbox-namespace=NAMESPACE' with containerd, "
                "'io.kubernetes.pod.namespace=NAMESPACE' with CRI-O, one of the two; what is given besides "
                "narrows it");
}

bool is_observer(const Config &config, const std::vector<std::string> &patterns)
{
    if (patterns.empty() || !unmet_key(config, patterns).empty())
        return false;
    const auto keys = engines_keys(patterns);
    return std::all_of(keys.begin(), keys.end(),
                       [&](const std::string &key) { return why_not_engines(config, key).empty(); });
}

} // namespace ogh
