// SPDX-License-Identifier: Apache-2.0
#include "request/annotations.h"

#include <fnmatch.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <utility>

#include "base/contains.h"
#include "base/error.h"
#include "base/text.h"
#include "build_config.h"

namespace ogh {

namespace {

constexpr std::string_view prefix = annotation_prefix;

/** Every key of the collection, without the prefix: each hook refuses what none of them knows. */
constexpr auto known_keys = std::to_array<std::string_view>({OGH_REQUEST_KEYS});

/** The engines' names for a pod's container: kubelet's by way of CRI-O, and containerd's. */
constexpr std::array<const char *, 2> container_name_keys{"io.kubernetes.container.name",
                                                          "io.kubernetes.cri.container-name"};

/** containerd's first: each engine lets a pod set the other's. */
constexpr std::array<std::string_view, 2> pod_keys{"io.kubernetes.cri.sandbox-namespace", crio_pod_key};

const std::string *find_value_of(const Config &config, std::string_view key)
{
    const auto annotation = config.annotations.find(key);
    return annotation == config.annotations.end() ? nullptr : &annotation->second;
}

const std::string *container_name(const Config &config)
{
    if (is_by_podman(config))
        return nullptr;
    for (const char *key : container_name_keys) {
        if (const std::string *name = find_value_of(config, key))
            return name;
    }
    return nullptr;
}

Error unknown_key(const std::string &key)
{
    return {ErrorKind::Usage, "no hook of oci-gpu-hooks knows the annotation " + quote(key) + "; known are " +
                                  std::string(prefix) + "KEY and KEY/CONTAINER with KEY one of " +
                                  quote_list({known_keys.begin(), known_keys.end()})};
}

/**
 * @param full has a slash in it
 * @param is_said that some do not count: a container can have as many as it likes, and it is said of the first
 */
void check_named(const std::string &full, const Config &config, Notes &notes, bool &is_said)
{
    if (container_name(config) != nullptr)
        return;
    const std::string plain = full.substr(0, full.find('/'));
    if (is_by_podman(config) && config.annotations.contains(plain)) {
        if (!std::exchange(is_said, true))
            notes.push_back({LogLevel::Warning, "the annotation " + quote(full) +
                                                    " does not count in a container that podman made: " +
                                                    quote(plain) + " does"});
        return;
    }
    throw Error(ErrorKind::Usage,
                "the annotation " + quote(full) +
                    " is for one container of a pod, but this container's name is not known: " +
                    (is_by_podman(config) ? "podman made it, and says none"
                                          : "config.json has neither 'io.kubernetes.container.name' nor "
                                            "'io.kubernetes.cri.container-name'"));
}

void check_key(const std::string &full, const Config &config, Notes &notes, bool &is_said)
{
    const std::string_view key = std::string_view(full).substr(prefix.size());
    const size_t slash = key.find('/');
    if (!contains(known_keys, key.substr(0, slash)) || slash == key.size() - 1)
        throw unknown_key(full);
    if (slash != std::string_view::npos)
        check_named(full, config, notes, is_said);
}

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

bool is_by_podman(const Config &config)
{
    constexpr std::string_view own = "io.podman.annotations.";
    const auto first = config.annotations.lower_bound(own);
    const std::string *const manager = find_value_of(config, "io.container.manager");
    return (first != config.annotations.end() && first->first.starts_with(own)) ||
           (manager != nullptr && *manager == "libpod");
}

std::optional<OwnAnnotation> find_own_annotation(const Config &config, std::string_view key)
{
    const std::string plain = std::string(prefix) + std::string(key);
    std::vector<std::string> names{plain};
    if (const std::string *name = container_name(config))
        names.insert(names.begin(), plain + "/" + *name);
    for (std::string &name : names) {
        const std::string *value = find_value_of(config, name);
        if (value != nullptr && *value != absent_value)
            return OwnAnnotation{std::move(name), value};
    }
    return std::nullopt;
}

void check_own_annotations(const Config &config, Notes &notes)
{
    const auto &annotations = config.annotations;
    bool is_said = false;
    for (auto entry = annotations.lower_bound(prefix);
         entry != annotations.end() && entry->first.starts_with(prefix); ++entry)
        if (entry->second != absent_value)
            check_key(entry->first, config, notes, is_said);
}

std::vector<std::string_view> detail_names(std::string_view hook)
{
    std::vector<std::string_view> names;
    for (const std::string_view key : known_keys) {
        if (key.starts_with(hook) && key.substr(hook.size()).starts_with('.'))
            names.push_back(key.substr(hook.size() + 1));
    }
    return names;
}

std::string_view pod_key(const Config &config)
{
    const auto *const found = std::find_if(pod_keys.begin(), pod_keys.end(), [&](std::string_view key) {
        return config.annotations.contains(key);
    });
    return found == pod_keys.end() ? "" : *found;
}

bool is_engines_annotation(std::string_view key)
{
    return contains(pod_keys, key);
}

std::string why_not_engines(const Config &config, std::string_view key)
{
    const std::string *const value = find_value_of(config, key);
    const auto has = [&](std::string_view each) { return config.annotations.contains(each); };
    if (value == nullptr || value->empty())
        return "the container has none";
    if (is_by_podman(config))
        return "podman made the container, and writes none";
    if (std::all_of(pod_keys.begin(), pod_keys.end(), has))
        return "the container has another engine's as well, so one of them is the user's";
    return "";
}

const std::string &engines_value(const Config &config, std::string_view key)
{
    if (const std::string why = why_not_engines(config, key); !why.empty())
        throw Error(ErrorKind::Denied, "this host counts devices by the annotation " + quote(key) +
                                           " of the engine (--quota), and " + why);
    return *find_value_of(config, key);
}

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
