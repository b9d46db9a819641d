// SPDX-License-Identifier: Apache-2.0
#include "request/request.h"

#include <algorithm>

#include "base/error.h"
#include "base/letters.h"
#include "base/text.h"
#include "oci/concourse_step.h"
#include "request/annotations.h"

namespace ogh {

namespace {

constexpr const char *key_variable = "OCI_GPU_HOOKS_KEY";
constexpr std::string_view variable_prefix = "OCI_GPU_HOOKS_";

/** "nvidia-devices.capabilities" is OCI_GPU_HOOKS_NVIDIA_DEVICES_CAPABILITIES. */
std::string variable_name(std::string_view key)
{
    std::string name(variable_prefix);
    for (const char c : key)
        name += c == '-' || c == '.' ? '_' : to_upper(c);
    return name;
}

/** What the container's key allows this hook. Neither the key nor its hash is ever part of a message. */
const Key &key_of(const Config &config, const OptInOptions &options, std::string_view hook,
                  const std::string &variable)
{
    const auto key = environment_value(config, key_variable);
    const std::string counts = "the environment variable " + quote(variable) + " counts only with a key, ";
    if (!key || key->empty())
        throw Error(ErrorKind::Denied, counts + "and this container has none: the step that may ask sets " +
                                           quote(key_variable) + ", see oci-gpu-hooks(7)");
    const Key *known = options.keys ? options.keys->find(*key, hook) : nullptr;
    if (known == nullptr)
        throw Error(ErrorKind::Denied, counts + "and the one in " + quote(key_variable) +
                                           " is not in --key-file: it was not stored at this pipeline, or "
                                           "was replaced, see oci-gpu-hooks(7)");
    if (!known->serves(hook))
        throw Error(ErrorKind::Denied, counts + "and the line " + quote(known->name) +
                                           " of --key-file does not serve this hook, which takes '--for " +
                                           std::string(hook) + "', see oci-gpu-hooks(7)");
    return *known;
}

bool has_serving_key(const Config &config, const OptInOptions &options, std::string_view hook)
{
    const auto key = environment_value(config, key_variable);
    const Key *const known = key && options.keys ? options.keys->find(*key, hook) : nullptr;
    return known != nullptr && known->serves(hook);
}

RequestValue checked(std::string value, std::string origin)
{
    if (trimmed(value).empty())
        throw Error(ErrorKind::Usage,
                    "the " + origin + " is empty; see oci-gpu-hooks(7) for what it may say");
    return request_value(std::move(value), std::move(origin));
}

/** Why nobody may ask for the container; "" if that is not so. */
std::string why_left_out(const Config &config)
{
    switch (concourse_step(config)) {
    case ConcourseStep::None:
    case ConcourseStep::Task:
        break;
    case ConcourseStep::Resource:
        return "a get, put or check container of Concourse";
    case ConcourseStep::Unknown:
        // Rather a task without than the image of a resource type with what was meant for tasks.
        return "a container of Concourse whose mounts are neither those of a task nor those of a get, put or "
               "check";
    }
    return "";
}

/** The one that is said where the environment counts. */
std::optional<std::string> counting_variable(std::string_view key, const Config &config,
                                             const OptInOptions &options)
{
    return options.opt_in == OptIn::Annotation ? std::nullopt : environment_value(config, variable_name(key));
}

/** Whose image it is, and so whose environment, its pipeline does not say: it starts, whatever it asks for. */
Note left_out(std::string_view hook, const Config &config, const OptInOptions &options,
              const std::string &why)
{
    if (find_own_annotation(config, hook) || counting_variable(hook, config, options))
        return {LogLevel::Warning, "left out, and starts without what it asks for: " + why};
    if (options.opt_in == OptIn::Always && concourse_step(config) == ConcourseStep::Unknown)
        return {LogLevel::Warning, "left out: " + why};
    return {LogLevel::Info, "nothing to do: " + why};
}

/** What is said under a key of this collection, and who says it; also where that does not count. */
std::optional<Request> find_any(std::string_view key, const Config &config, const OptInOptions &options)
{
    if (const auto annotation = find_own_annotation(config, key))
        return Request{Asker::Annotation,
                       checked(*annotation->value, "annotation " + quote(annotation->name))};
    auto value = counting_variable(key, config, options);
    if (!value)
        return std::nullopt;
    const std::string variable = variable_name(key);
    const std::string origin = "environment variable " + quote(variable);
    if (!options.key_file)
        return Request{Asker::Environment, checked(std::move(*value), origin)};
    const std::string_view hook = key.substr(0, key.find('.'));
    // It takes nothing, so that a step may say it of its image that asks. With a key it may name what goes with it.
    if (key == hook && trimmed(*value) == "none" && !has_serving_key(config, options, hook))
        return Request{Asker::Environment, checked(std::move(*value), origin)};
    const Key &known = key_of(config, options, hook, variable);
    Request request{Asker::Key, checked(std::move(*value), origin + " with the key " + quote(known.name))};
    request.limits = known.limits;
    request.key = known.name;
    return request;
}

/** The same, if it counts. */
std::optional<Request> find_counting(std::string_view key, const Config &config, const OptInOptions &options)
{
    auto found = find_any(key, config, options);
    const bool is_environments = options.opt_in == OptIn::Environment; // whom the host has told of
    if (found && (found->asker == Asker::Annotation || !is_environments) &&
        trimmed(found->what.value) != "none")
        check_pod(key.substr(0, key.find('.')), config, options, found->what.origin);
    return found;
}

Request by_host(Asker asker, const OptInOptions &options)
{
    return {asker, checked(*options.request, "option '--request'")};
}

/** Where the host believes a device plugin the container itself can only say `none`. */
std::optional<Request> find_plugins(std::string_view hook, const Config &config, const OptInOptions &options,
                                    Notes &notes)
{
    if (auto own = find_any(hook, config, options)) {
        if (trimmed(own->what.value) == "none")
            return own;
        throw Error(ErrorKind::Denied, "the " + own->what.origin +
                                           " does not count here: the host has a device plugin choose "
                                           "(--from); let the pod ask for its resource, or for 'none'");
    }
    auto found = find_plugin_request(config, options.plugin, notes);
    if (!found) {
        refuse_unbelieved_marks(config, options.plugin);
        notes.push_back(
            {LogLevel::Info, "nothing to do: no device plugin has given this container a device"});
        return std::nullopt;
    }
    Request request{Asker::Plugin, std::move(found->what)};
    request.plugin = found->source;
    return request;
}

/** What the host has it see, or less where the container says so. */
Request find_observers(std::string_view hook, const Config &config, const OptInOptions &options, Notes &notes)
{
    check_own_annotations(config, notes);
    auto own = find_any(hook, config, options);
    return {Asker::Observer, own ? std::move(own->what) : RequestValue{"all", "option '--observer'"}};
}

/** Who asks, and for what, whether or not --only lets it. */
std::optional<Request> find_request(std::string_view hook, const Config &config, const OptInOptions &options,
                                    Notes &notes)
{
    check_own_annotations(config, notes);
    if (!options.plugin.from.empty())
        return find_plugins(hook, config, options, notes);
    if (const std::string why = why_left_out(config); !why.empty()) {
        notes.push_back(left_out(hook, config, options, why));
        return std::nullopt;
    }
    if (options.request && options.opt_in != OptIn::Always)
        return by_host(Asker::Device, options);
    if (auto asked = find_counting(hook, config, options))
        return asked;
    if (options.opt_in != OptIn::Always) {
        notes.push_back({LogLevel::Info, "nothing to do: this container did not ask"});
        return std::nullopt;
    }
    return by_host(Asker::Always, options);
}

/** What is said besides. A CDI device is all there is to say where the host asks for this container. */
void read_details(std::string_view hook, const Config &config, const OptInOptions &options, Request &request)
{
    const bool is_none_without_key = options.key_file && request.asker == Asker::Environment;
    if (request.asker == Asker::Device || is_none_without_key)
        return;
    const auto find = request.asker == Asker::Observer ? find_any : find_counting;
    for (const std::string_view name : detail_names(hook)) {
        if (auto found = find(std::string(hook) + "." + std::string(name), config, options))
            request.details.emplace(name, std::move(found->what));
    }
}

/** By --only. */
void keep_if_allowed(std::optional<Request> &request, const Config &config, const OptInOptions &options,
                     Notes &notes)
{
    const std::string key = unmet_key(config, options.only);
    if (key.empty())
        return;
    const std::string why = "the host's policy (--only) is not met by its annotation " + quote(key);
    if (request->asker != Asker::Always)
        throw Error(ErrorKind::Denied, "this container may not ask: " + why);
    notes.push_back({LogLevel::Info, "nothing to do: " + why});
    request.reset();
}

} // namespace

std::string Request::asker_text() const
{
    switch (asker) {
    case Asker::Annotation:
    case Asker::EngineAnnotation:
        break;
    case Asker::Environment:
        return "environment";
    case Asker::Key:
        return "key:" + key;
    case Asker::Always:
        return "tag";
    case Asker::Device:
        return "device";
    case Asker::Plugin:
        return "plugin";
    case Asker::Observer:
        return "observer";
    case Asker::OtherHook:
        return "hook";
    }
    return "annotation";
}

const RequestValue *Request::detail(std::string_view name) const
{
    const auto found = details.find(name);
    return found == details.end() ? nullptr : &found->second;
}

bool may_ask(std::string_view config_text, const OptInOptions &options)
{
    const auto has = [&](std::string_view word) { return config_text.find(word) != std::string_view::npos; };
    if (options.request || !options.plugin.from.empty() || !options.observers.empty())
        return true;
    // No other escape of JSON stands for a letter or a slash.
    if (has("\\u") || has("\\/") || has(annotation_prefix))
        return true;
    const std::vector<std::string_view> &directories = options.plugin.names.directories;
    return (options.opt_in == OptIn::Environment && has(variable_prefix)) ||
           std::any_of(directories.begin(), directories.end(), [&](std::string_view directory) {
               directory.remove_suffix(1);
               return has(directory.substr(directory.rfind('/') + 1));
           });
}

bool needs_keys(std::string_view hook, const Config &config, const OptInOptions &options)
{
    const std::string name = variable_name(hook);
    return options.key_file && why_left_out(config).empty() &&
           std::any_of(config.environment.begin(), config.environment.end(),
                       [&](const std::string &entry) { return entry.starts_with(name); });
}

std::optional<Request> read_request(std::string_view hook, const Config *config, const OptInOptions &options,
                                    Notes &notes, const OtherwiseAsked &otherwise)
{
    if (config == nullptr)
        return by_host(Asker::Device, options);
    std::optional<Request> request;
    if (is_observer(*config, options.observers))
        request = find_observers(hook, *config, options, notes);
    else if ((request = find_request(hook, *config, options, notes)))
        keep_if_allowed(request, *config, options, notes);
    if (!request && otherwise)
        request = otherwise();
    if (request)
        read_details(hook, *config, options, *request);
    return request;
}

void check_pod(std::string_view hook, const Config &config, const OptInOptions &options,
               const std::string &origin)
{
    const std::string_view key = pod_key(config);
    if (key.empty() || options.has_limit || options.needs_no_limit)
        return;
    std::string install = std::string("oci-gpu-hooks install --engine ") +
                          (key == crio_pod_key ? "crio " : "containerd --runtime NAME ") + std::string(hook);
    for (const std::string &word : options.words)
        install += " " + quote(word);
    throw Error(ErrorKind::Denied,
                "a pod's author is not the host's administrator: the " + origin +
                    " counts only where the hook has a limit (--only, --allow, --max-devices or "
                    "--quota), and it has none; for example: " +
                    install + " --only " + std::string(key) + "=NAMESPACE, see the guide kubernetes.md");
}

} // namespace ogh
