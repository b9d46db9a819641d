// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdint>

#include "hook/options.h"
#include "oci/config.h"
#include "promise.h"
#include "reference_json.h"
#include "request/request.h"
#include "target.h"

namespace ogh::fuzz::config {

using nlohmann::json;

namespace {

const std::string bundle = "/run/bundle";

/** The member of a member, for a document that is_config() has approved. */
const json *inner(const json &document, const char *outer, const char *name)
{
    const json *object = member(document, outer);
    return object == nullptr ? nullptr : member(*object, name);
}

bool is_object_if_there(const json *value)
{
    return value == nullptr || value->is_object();
}

bool is_plain_inner(const json &document, const char *outer, const char *name)
{
    return is_plain_if_there(inner(document, outer, name));
}

bool are_all_plain(const json &values)
{
    return std::all_of(values.begin(), values.end(), is_plain_string);
}

/** An id of a user or a group; the last number is none. */
bool is_id(const json &value)
{
    return value.is_number_unsigned() && value.get<std::uint64_t>() < UINT32_MAX;
}

bool is_process(const json &process)
{
    const json *user = member(process, "user");
    const json *sets = member(process, "capabilities");
    if (!is_object_if_there(user) || !is_object_if_there(sets))
        return false;
    const json *effective = sets == nullptr ? nullptr : member(*sets, "effective");
    const json none = json::object();
    const json &ids = user == nullptr ? none : *user;
    const json *groups = member(ids, "additionalGids");
    const auto is_id_if_there = [&](const char *name) {
        return member(ids, name) == nullptr || is_id(*member(ids, name));
    };
    return is_id_if_there("uid") && is_id_if_there("gid") &&
           (effective == nullptr || effective->is_array()) &&
           (groups == nullptr || (groups->is_array() && std::all_of(groups->begin(), groups->end(), is_id)));
}

bool is_config(const json &document)
{
    for (const char *name : {"root", "annotations", "process", "linux", "hooks"}) {
        if (!is_object_if_there(member(document, name)))
            return false;
    }
    if (const json *process = member(document, "process"); process != nullptr && !is_process(*process))
        return false;
    const json *root = inner(document, "root", "path");
    const json *read_only = inner(document, "root", "readonly");
    const json *annotations = member(document, "annotations");
    const json *environment = inner(document, "process", "env");
    return is_plain_inner(document, "linux", "mountLabel") &&
           is_plain_inner(document, "linux", "cgroupsPath") &&
           (read_only == nullptr || read_only->is_boolean()) && root != nullptr && is_plain_string(*root) &&
           !root->get_ref<const std::string &>().empty() &&
           (annotations == nullptr || are_all_plain(*annotations)) &&
           (environment == nullptr || (environment->is_array() && are_all_plain(*environment)));
}

void check_content(const Config &config, const json &document)
{
    const auto root = inner(document, "root", "path")->get<std::string>();
    require(config.rootfs == (root.starts_with('/') ? root : bundle + "/" + root),
            "the rootfs is what root.path says");
    const json *annotations = member(document, "annotations");
    using Annotations = decltype(config.annotations);
    require(config.annotations == (annotations == nullptr ? Annotations{} : annotations->get<Annotations>()),
            "annotations are what config.json says");
    const json *list = inner(document, "process", "env");
    using Environment = decltype(config.environment);
    require(config.environment == (list == nullptr ? Environment{} : list->get<Environment>()),
            "the environment is what config.json says");
}

bool is_text(const json *value, std::string_view text)
{
    return value != nullptr && value->is_string() && *value == text;
}

/** What is not stored of lists decides nothing. */
void check_lists(const Config &config, const json &document)
{
    size_t binds = 0;
    const json *mounts = member(document, "mounts");
    for (size_t i = 0; mounts != nullptr && mounts->is_array() && i < mounts->size(); ++i) {
        const json &mount = (*mounts)[i];
        binds += mount.is_object() && is_text(member(mount, "type"), "bind") ? size_t{1} : size_t{0};
    }
    require(config.binds.size() == binds, "each bind mount is seen");
    const json *sets = inner(document, "process", "capabilities");
    const json *effective = sets == nullptr ? nullptr : member(*sets, "effective");
    const json none = json::array();
    const json &list = effective == nullptr ? none : *effective;
    require(config.user.overrides_permissions ==
                std::any_of(list.begin(), list.end(),
                            [](const json &each) { return is_text(&each, "CAP_DAC_OVERRIDE"); }),
            "one capability is looked for among those that are effective");
}

/** Everything with a path that is a text is a hook, whatever else is wrong there. */
void check_hooks(const Config &config, const json &document)
{
    std::vector<HookEntry> entries;
    const json *stages = member(document, "hooks");
    for (const json &hooks : stages == nullptr ? json::object() : *stages) {
        for (size_t i = 0; hooks.is_array() && i < hooks.size(); ++i) {
            const json *path = hooks[i].is_object() ? member(hooks[i], "path") : nullptr;
            if (path == nullptr || !path->is_string())
                continue;
            entries.push_back({path->get<std::string>()});
            const json *timeout = member(hooks[i], "timeout");
            if (timeout != nullptr && timeout->is_number_unsigned())
                entries.back().timeout = timeout->get<std::uint64_t>();
        }
    }
    require(config.hooks == entries, "hooks are what config.json says");
}

/** Each variable by its name, in the plainest way. */
void check_environment(const Config &config)
{
    std::map<std::string, std::string> variables;
    for (const std::string &entry : config.environment) {
        const size_t end = entry.find('=');
        if (end != std::string::npos)
            variables[entry.substr(0, end)] = entry.substr(end + 1);
    }
    for (const auto &[name, value] : variables)
        require(environment_value(config, name) == value, "the last of equal variables counts");
    require(!environment_value(config, "\x01 no such variable"), "what is not set has no value");
}

/** Whoever may opt in: what is asked for is an answer or a refusal. */
void check_requests(std::string_view input, const Config &config)
{
    for (const OptIn opt_in : {OptIn::Annotation, OptIn::Environment, OptIn::Always}) {
        CommonOptions options;
        options.opt_in = opt_in;
        if (opt_in == OptIn::Always)
            options.request = "all";
        Notes notes;
        const auto outcome =
            attempt([&] { return read_request("mount-srv", &config, options, notes).has_value(); });
        require(may_ask(input, options) || outcome.value == false, "what is not parsed asks for nothing");
        require(outcome.value || outcome.kind == ErrorKind::Usage, "a request is refused as a wrong use");
    }
}

} // namespace

void check(std::string_view input)
{
    const auto outcome = attempt([&] { return parse_config(input, bundle); });
    const auto document = whole_object(input);
    const bool is_right = document && is_config(*document);
    if (!outcome.value) {
        require(outcome.kind == ErrorKind::Failure, "a config.json that cannot be used is a plain failure");
        require(!is_right || nesting(input) != Nesting::Fine || names(input) != Names::Fine,
                "what an engine may write is read");
        return;
    }
    require(is_right, "a config.json that was read is one");
    require(nesting(input) != Nesting::TooDeep, "nesting has a limit");
    require(names(input) != Names::Twice, "no member comes twice");
    check_content(*outcome.value, *document);
    check_lists(*outcome.value, *document);
    check_hooks(*outcome.value, *document);
    check_environment(*outcome.value);
    check_requests(input, *outcome.value);
}

} // namespace ogh::fuzz::config
