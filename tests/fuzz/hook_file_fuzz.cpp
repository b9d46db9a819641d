// SPDX-License-Identifier: Apache-2.0
#include <string>

#include "promise.h"
#include "registration/hook_file.h"
#include "registration/policy_words.h"
#include "target.h"

namespace ogh::fuzz::hook_file {

using namespace ogh::admin;

namespace {

void check_options(const HookFile &file)
{
    const FileOptions options = options_of(file);
    for (const std::string &problem : options.problems)
        require(is_one_clean_line(problem), "a problem is one clean line");
    for (const std::string &option : options.policy)
        require(!option.starts_with("--drain") && !option.starts_with("--log-file"),
                "what a file may not say");
    for (const char *const name : {"--allow", "--request"})
        if (const auto value = option_of(file, name))
            require(policy_words(file).find(*value) != std::string::npos || !is_one_clean_line(*value) ||
                        value->size() > 2048 || value->find_first_of("'\\") != std::string::npos ||
                        name == std::string("--request"),
                    "a limit is said");
    require(is_one_clean_line(policy_words(file)), "a policy is one clean line");
    require(policy_options(file.args).size() <= file.args.size(), "options come from nowhere");
}

void check_when(const HookFile &file)
{
    const bool is_called = is_called_for(file, "io.oci-gpu-hooks.mount-srv", "all");
    require(is_called == is_called_for(file, "io.oci-gpu-hooks.mount-srv", "all"), "another answer");
    if (file.when.has_bind_mounts.value_or(false) || !file.when.commands.empty())
        require(!is_called, "a condition is passed over");
}

} // namespace

void check(std::string_view input)
{
    const HookFile file = parse_hook_file("/etc/containers/oci/hooks.d/x.json", input);
    require(file.name == "x.json", "another name");
    if (!file.problem.empty()) {
        require(is_one_clean_line(file.problem), "a problem is one clean line");
        return;
    }
    require(file.executable.starts_with('/') && file.executable.find('\0') == std::string::npos, "no path");
    require(!file.stages.empty() && file.args.size() <= 1024, "the limits are kept");
    check_options(file);
    check_when(file);
}

} // namespace ogh::fuzz::hook_file
