// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <sstream>

#include "base/text.h"
#include "hook/options.h"
#include "mount-srv/plan.h"
#include "promise.h"
#include "request/request.h"
#include "target.h"

namespace ogh::fuzz::request {

namespace {

constexpr std::string_view prefix = "io.oci-gpu-hooks.";
constexpr std::string_view hook = "mount-srv";
const std::string own_key = std::string(prefix) + std::string(hook);
const std::string variable = "OCI_GPU_HOOKS_MOUNT_SRV";
constexpr std::array<const char *, 2> container_names{"io.kubernetes.container.name",
                                                      "io.kubernetes.cri.container-name"};

/** A container and what the host's options say of it. */
struct Case {
    Config config;
    CommonOptions options;
};

void add_line(Case &input, const std::string &line)
{
    const size_t end = std::min(line.find(' '), line.size());
    const std::string word = line.substr(0, end);
    const std::string rest = line.substr(std::min(end + 1, line.size()));
    if (word == "annotation") {
        const size_t tab = std::min(rest.find('\t'), rest.size());
        input.config.annotations[rest.substr(0, tab)] = rest.substr(std::min(tab + 1, rest.size()));
    } else if (word == "env")
        input.config.environment.push_back(rest);
    else if (word == "program")
        input.config.program = rest;
    else if (word == "bind")
        input.config.binds.push_back({rest});
    else if (word == "request")
        input.options.request = rest;
    else if (word == "opt-in")
        input.options.opt_in = rest == "always" ? OptIn::Always : OptIn::Environment;
}

/**
 * A line each: `annotation KEY<tab>VALUE`, `env NAME=VALUE`, `program PATH`, `bind TARGET`, `request VALUE`,
 * `opt-in environment`, `opt-in always`. Nothing if the options contradict each other.
 */
std::optional<Case> read_case(std::string_view input)
{
    Case result;
    std::istringstream lines{std::string(input)};
    for (std::string line; std::getline(lines, line);)
        add_line(result, line);
    const auto outcome = attempt([&] {
        ogh::check(result.options);
        return result;
    });
    return outcome.value;
}

bool is_of_pod(const Config &config)
{
    return config.annotations.contains("io.kubernetes.cri.sandbox-namespace") ||
           config.annotations.contains("io.kubernetes.pod.namespace");
}

bool is_of_podman(const Config &config)
{
    const auto manager = config.annotations.find("io.container.manager");
    return std::any_of(config.annotations.begin(), config.annotations.end(),
                       [](const auto &each) { return each.first.starts_with("io.podman.annotations."); }) ||
           (manager != config.annotations.end() && manager->second == "libpod");
}

Outcome<std::optional<Request>> ask(const Case &input)
{
    Notes notes;
    auto outcome = attempt([&] { return read_request(hook, &input.config, input.options, notes); });
    for (const Note &note : notes)
        require(is_one_clean_line(note.text), "a note is one clean line");
    const bool is_refused = outcome.kind == ErrorKind::Denied && is_of_pod(input.config);
    require(outcome.value || is_refused || outcome.kind == ErrorKind::Usage,
            "a request is refused as a wrong use");
    return outcome;
}

/** The key for this container alone, nothing if its name is not known, or only podman says one. */
std::optional<std::string> container_key(const Config &config)
{
    if (is_of_podman(config))
        return std::nullopt;
    for (const char *key : container_names) {
        const auto name = config.annotations.find(key);
        if (name != config.annotations.end())
            return own_key + "/" + name->second;
    }
    return std::nullopt;
}

const std::string *annotation(const Config &config, const std::optional<std::string> &key)
{
    const auto found = key ? config.annotations.find(*key) : config.annotations.end();
    return found == config.annotations.end() ? nullptr : &found->second;
}

/** A key of this collection that no hook can know; the keys of other hooks are not told apart here. */
bool is_misspelt(const std::string &key)
{
    if (!key.starts_with(prefix))
        return false;
    const std::string rest = key.substr(prefix.size());
    const auto begins = [&](std::string_view known) { return rest.starts_with(known); };
    if (begins(hook) && rest.size() > hook.size())
        return rest[hook.size()] != '/' || rest.size() == hook.size() + 1;
    return !begins(hook) && !begins("nvidia-devices") && !begins("amd-kfd") && !begins("cdi-devices") &&
           !begins("ldcache-update");
}

bool has_misspelt_key(const Config &config)
{
    return std::any_of(config.annotations.begin(), config.annotations.end(),
                       [](const auto &each) { return each.second != "-" && is_misspelt(each.first); });
}

/** Whether somebody who may ask for this container has said `value`. */
bool was_said(const std::string &value, const Case &input)
{
    const auto says = [&](const std::string *text) { return text != nullptr && *text == value; };
    const auto &environment = input.config.environment;
    const bool by_variable =
        input.options.opt_in != OptIn::Annotation &&
        std::find(environment.begin(), environment.end(), variable + "=" + value) != environment.end();
    return input.options.request == value || by_variable || says(annotation(input.config, own_key)) ||
           says(annotation(input.config, container_key(input.config)));
}

/** A volume that a get or put has; whatever else is mounted, the host's request is not for it. */
bool is_resource(const Config &config)
{
    const auto &binds = config.binds;
    return config.program == "/tmp/gdn-init" && std::any_of(binds.begin(), binds.end(), [](const auto &bind) {
               return bind.destination == "/tmp/build/get" || bind.destination == "/tmp/build/put";
           });
}

void check_asked(const Request &request, const Case &input)
{
    const RequestValue &asked = request.what;
    const bool is_annotation = request.asker == Asker::Annotation;
    require(asked.value.find_first_not_of(" \t") != std::string::npos, "a request is never empty");
    require(asked.value.size() <= max_request_size, "a request has a limit");
    require(is_one_clean_line(asked.origin), "who asks is one clean line");
    require(was_said(asked.value, input), "only those ask who may");
    const bool by_host = input.options.request && input.options.opt_in != OptIn::Always;
    const std::string *own = annotation(input.config, container_key(input.config));
    require(!is_resource(input.config), "no request is for the image of a resource type");
    require(by_host || own == nullptr || *own == "-" || asked.value == *own,
            "in a pod the container's own key wins");
    require(!is_annotation || asked.value != "-", "a dash is no request");
    require(!is_annotation || !is_of_pod(input.config) || trimmed(asked.value) == "none",
            "a pod asks for nothing without a limit");
    attempt([&] { return mount_srv::parse_directory_request(asked); });
}

/** Where only annotations count, an image can say what it likes. */
void check_environment_is_nothing(const Case &input, const Outcome<std::optional<Request>> &outcome)
{
    Case without = input;
    without.config.environment.clear();
    const auto other = ask(without);
    const auto value = [](const auto &any) {
        return any.value && *any.value ? (*any.value)->what.value : "-";
    };
    require(other.kind == outcome.kind && value(other) == value(outcome), "the environment asks for nothing");
}

} // namespace

void check(std::string_view input)
{
    const auto request = read_case(input);
    if (!request)
        return;
    const auto outcome = ask(*request);
    require(!outcome.value || !has_misspelt_key(request->config), "a misspelt key is refused");
    if (outcome.value && *outcome.value)
        check_asked(**outcome.value, *request);
    if (request->options.opt_in == OptIn::Annotation)
        check_environment_is_nothing(*request, outcome);
}

} // namespace ogh::fuzz::request
