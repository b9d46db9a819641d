// SPDX-License-Identifier: Apache-2.0
#include "install/hook_file_text.h"

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "doctor/check_hook_file.h"
#include "hook/cdi_option.h"
#include "registration/policy_words.h"

namespace ogh::admin {

namespace {

using nlohmann::ordered_json;

HookFile as_file(const OurHook &hook, const std::vector<std::string> &options)
{
    HookFile file;
    file.executable = hook.executable;
    file.args = {std::string(hook.name)};
    file.args.insert(file.args.end(), options.begin(), options.end());
    file.ours = &hook;
    return file;
}

ordered_json when_of(const HookFile &file)
{
    if (needs_every_container(file))
        return ordered_json::object({{"always", true}});
    return ordered_json::object(
        {{"annotations", ordered_json::object({{R"(^io\.oci-gpu-hooks\.)", "^([^-]|-.)|^$"}})}});
}

} // namespace

std::string hook_file_text(const OurHook &hook, const std::vector<std::string> &options)
{
    const HookFile file = as_file(hook, options);
    const auto wait = option_of(file, "--max-wait");
    const ordered_json document = {{"version", "1.0.0"},
                                   {"hook",
                                    {{"path", file.executable},
                                     {"args", file.args},
                                     {"env", ordered_json::array({"PATH=/usr/sbin:/usr/bin:/sbin:/bin"})},
                                     {"timeout", hook_timeout(wait.value_or("")).count()}}},
                                   {"when", when_of(file)},
                                   {"stages", ordered_json::array({"createRuntime"})}};
    return document.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

void check_hook_text(const Engine &engine, const std::string &path, const std::string &text)
{
    const HookFile file = parse_hook_file(path, text);
    if (!file.problem.empty())
        throw Error(ErrorKind::BrokenHost, path + ": " + file.problem);
    for (const Finding &finding : check_hook_file(engine, file))
        if (finding.severity == Severity::Error)
            throw Error(ErrorKind::BrokenHost, finding.text + "; " + finding.remedy);
}

} // namespace ogh::admin
