// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cstdlib>
#include <iterator>
#include <map>

#include <nlohmann/json.hpp>

#include "base/contains.h"
#include "base/error.h"
#include "base/json.h"
#include "base/text.h"
#include "build_config.h"
#include "commands/command.h"
#include "registration/policy_words.h"
#include "request/annotations.h"

namespace ogh::admin {

namespace {

using nlohmann::json;

/** What is asked of one hook. */
struct Asked {
    std::string value;
    std::vector<std::string> options; ///< what else the hook takes on its command line
};

using AskedByHook = std::map<std::string, Asked>;

/** Details that change nothing here: nobody's lease is taken or waited for in a plan. */
constexpr std::array of_leases{"hold", "lease", "wait"};

/** The key without the prefix of all annotations. @throws Error (Usage) */
std::string known_key(std::string key)
{
    if (key.starts_with(annotation_prefix))
        key.erase(0, annotation_prefix.size());
    const auto known = annotation_keys();
    if (contains(known, key))
        return key;
    throw Error(ErrorKind::Usage, "no hook knows the annotation " + quote(key) + "; there are " +
                                      quote_list({known.begin(), known.end()}));
}

AskedByHook parse_words(const std::vector<std::string> &words)
{
    AskedByHook asked;
    std::map<std::string, std::string> details;
    for (const std::string &word : words) {
        const size_t end = word.find('=');
        if (end == std::string::npos)
            throw Error(ErrorKind::Usage, "an annotation is NAME=VALUE, and not " + quote(word));
        const std::string key = known_key(word.substr(0, end));
        const std::string value = word.substr(end + 1);
        if (find_hook(key) != nullptr)
            asked[key].value = value;
        else
            details[key] = value;
    }
    for (const auto &[key, value] : details) {
        const std::string hook = key.substr(0, key.find('.'));
        const auto found = asked.find(hook);
        if (found == asked.end())
            throw Error(ErrorKind::Usage, quote(key) + " asks for nothing without " + quote(hook));
        const std::string detail = key.substr(hook.size() + 1);
        if (detail == "capabilities")
            found->second.options.insert(found->second.options.end(), {"--" + detail, value});
        else if (!contains(of_leases, detail))
            throw Error(ErrorKind::Usage, "a plan does not show " + quote(key) +
                                              ": leave it out; beside what is asked for it takes "
                                              "'capabilities', " +
                                              quote_list({of_leases.begin(), of_leases.end()}));
    }
    if (asked.empty())
        throw Error(ErrorKind::Usage, "which annotations? For example: oci-gpu-hooks plan mount-srv=all");
    return asked;
}

std::string device_line(const json &node)
{
    return "  device  " + text_member(node, "path") + "  " + std::to_string(node.value("major", 0)) + ":" +
           std::to_string(node.value("minor", 0)) + " " + text_member(node, "permissions");
}

std::string mount_line(const json &mount)
{
    std::string options;
    const json list = mount.value("options", json::array());
    for (const json &option : list)
        options += (options.empty() ? "" : ",") + option.get<std::string>();
    return "  mount   " + text_member(mount, "containerPath") + "  from " + text_member(mount, "hostPath") +
           "  " + options;
}

/** What stands as JSON in an annotation ("links"): a list of texts, or of objects with a path. */
std::vector<std::string> further_lines(std::string name, const std::string &content)
{
    if (name.ends_with('s'))
        name.pop_back();
    std::vector<std::string> lines;
    const json list = json::parse(content);
    for (const json &each : list) {
        std::string word = name;
        word.resize(8, ' ');
        if (each.is_string())
            lines.push_back("  " + word + each.get<std::string>());
        else
            lines.push_back("  " + word + text_member(each, "path") +
                            (each.contains("target") ? "  -> " + text_member(each, "target") : ""));
    }
    return lines;
}

/** For people, a line for each thing; the form is in "--plan" of oci-gpu-hooks(7). */
std::string in_lines(const std::string &plan)
{
    if (plan.empty())
        return "  nothing\n";
    std::vector<std::string> lines;
    const json document = json::parse(plan);
    for (const json &device : document.at("devices")) {
        const json edits = device.value("containerEdits", json::object());
        const json nodes = edits.value("deviceNodes", json::array());
        const json mounts = edits.value("mounts", json::array());
        const json further = device.value("annotations", json::object());
        std::transform(nodes.begin(), nodes.end(), std::back_inserter(lines), device_line);
        std::transform(mounts.begin(), mounts.end(), std::back_inserter(lines), mount_line);
        for (const auto &[key, value] : further.items()) {
            auto more = further_lines(key.substr(key.rfind('/') + 1), value.get<std::string>());
            lines.insert(lines.end(), more.begin(), more.end());
        }
    }
    std::string text;
    for (const std::string &line : lines)
        text += printable(line) + "\n";
    return text.empty() ? "  nothing\n" : text;
}

int print_plan(const Sysroot &sysroot, InstalledHook hook, const Asked &asked, bool as_json)
{
    const std::string title = title_of(hook);
    hook.options = policy_options(hook.options);
    std::vector<std::string> words{"--plan", "--request", asked.value};
    words.insert(words.end(), asked.options.begin(), asked.options.end());
    const ProgramOutput output = run_hook(sysroot, hook, words);
    if (as_json)
        print(output.out);
    else
        print(title + "\n" +
              (output.exit_status == 0 ? in_lines(output.out) : "  " + message_of(hook, output) + "\n"));
    return output.exit_status;
}

int print_plans(const std::shared_ptr<const Sysroot> &sysroot, const std::vector<std::string> &words,
                bool as_json)
{
    const AskedByHook asked = parse_words(words);
    const std::vector<InstalledHook> hooks = hooks_of_host(sysroot);
    int status = 0;
    for (const auto &[name, what] : asked) {
        bool is_installed = false;
        for (const InstalledHook &hook : hooks)
            if (hook.hook->name == name) {
                is_installed = true;
                status = std::max(status, print_plan(*sysroot, hook, what, as_json));
            }
        if (!is_installed)
            throw Error(ErrorKind::BrokenHost, name + " is not installed on this host");
    }
    return status;
}

} // namespace

int plan(CommandLine &cli, Invocation &call)
{
    std::vector<std::string> words;
    bool as_json = false;
    cli.add_words("NAME=VALUE...", "Annotations, with or without 'io.oci-gpu-hooks.': nvidia-devices=any:1",
                  words);
    cli.add_choice({"--format", "NAME", "text or json (default: text)"}, {"text", "json"},
                   [&](const std::string &name) { as_json = name == "json"; });
    if (!call.parse())
        return EXIT_SUCCESS;
    return print_plans(call.open(), words, as_json);
}

} // namespace ogh::admin
