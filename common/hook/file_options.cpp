// SPDX-License-Identifier: Apache-2.0
#include "hook/file_options.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "base/text.h"

namespace ogh {

namespace {

enum class OptionUse {
    Policy,
    Limit, ///< of the policy, and a limit to what a pod's author may ask
    Place, ///< an absolute path on the host that is read or written beside the policy
    Other,
    Action, ///< what is done instead of the hook's work
};

struct KnownOption {
    std::string_view name;
    bool has_value;
    OptionUse use;
};

constexpr std::array known_options{
    KnownOption{"--opt-in", true, OptionUse::Policy},
    KnownOption{"--request", true, OptionUse::Policy},
    KnownOption{"--all-steps", false, OptionUse::Policy},
    KnownOption{"--only", true, OptionUse::Limit},
    KnownOption{"--allow", true, OptionUse::Limit},
    KnownOption{"--max-devices", true, OptionUse::Limit},
    KnownOption{"--count-means", true, OptionUse::Policy},
    KnownOption{"--ignore-health", false, OptionUse::Policy},
    KnownOption{"--only-empty", false, OptionUse::Policy},
    KnownOption{"--empty-below", true, OptionUse::Policy},
    KnownOption{"--monitors", true, OptionUse::Policy},
    KnownOption{"--capabilities", true, OptionUse::Policy},
    KnownOption{"--allow-capabilities", true, OptionUse::Policy},
    KnownOption{"--from", true, OptionUse::Policy},
    KnownOption{"--observer", true, OptionUse::Policy},
    KnownOption{"--imex", true, OptionUse::Policy},
    KnownOption{"--allow-imex", true, OptionUse::Policy},
    KnownOption{"--min-lease", true, OptionUse::Policy},
    KnownOption{"--max-wait", true, OptionUse::Policy},
    KnownOption{"--idle-init", true, OptionUse::Policy},
    KnownOption{"--idle-after", true, OptionUse::Policy},
    KnownOption{"--begin-within", true, OptionUse::Policy},
    KnownOption{"--max-hold", true, OptionUse::Policy},
    KnownOption{"--hold-grace", true, OptionUse::Policy},
    KnownOption{"--quota", true, OptionUse::Limit},
    KnownOption{"--quota-by", true, OptionUse::Limit},
    KnownOption{"--max-sharers", true, OptionUse::Policy},
    KnownOption{"--source-dir", true, OptionUse::Policy},
    KnownOption{"--target-dir", true, OptionUse::Policy},
    KnownOption{"--writable", true, OptionUse::Policy},
    KnownOption{"--idmap", false, OptionUse::Policy},
    KnownOption{"--spec-dir", true, OptionUse::Policy},
    KnownOption{"--require-env", false, OptionUse::Policy},
    KnownOption{"--give-gpus", false, OptionUse::Policy},
    KnownOption{"--engine-annotations", false, OptionUse::Policy},
    KnownOption{"--directory", true, OptionUse::Policy},
    KnownOption{"--key-file", true, OptionUse::Place},
    KnownOption{"--log-file", true, OptionUse::Place},
    KnownOption{"--driver-root", true, OptionUse::Place},
    KnownOption{"--sysroot", true, OptionUse::Place},
    KnownOption{"--log-level", true, OptionUse::Other},
    KnownOption{"--history", true, OptionUse::Other},
    KnownOption{"--drain", true, OptionUse::Action},
    KnownOption{"--undrain", true, OptionUse::Action},
    KnownOption{"--reason", true, OptionUse::Action},
    KnownOption{"--for", true, OptionUse::Action},
    KnownOption{"--list", false, OptionUse::Action},
    KnownOption{"--format", true, OptionUse::Action},
    KnownOption{"--plan", false, OptionUse::Action},
    KnownOption{"--cdi", false, OptionUse::Action},
    KnownOption{"--kind", true, OptionUse::Action},
    KnownOption{"--inspect", false, OptionUse::Action},
    KnownOption{"--help", false, OptionUse::Action},
    KnownOption{"--version", false, OptionUse::Action},
};

const KnownOption *find_option(std::string_view name)
{
    const auto *const found = std::find_if(known_options.begin(), known_options.end(),
                                           [&](const KnownOption &option) { return option.name == name; });
    return found == known_options.end() ? nullptr : &*found;
}

void sort_option(const KnownOption &option, const std::string &value, FileOptions &sorted)
{
    const std::string name(option.name);
    std::vector<std::string> whole{name};
    sorted.has_limit = sorted.has_limit || option.use == OptionUse::Limit;
    if (option.has_value && (value.empty() || value.starts_with('-')))
        whole.front() += "=" + value; // or it would be taken for an option
    else if (option.has_value)
        whole.push_back(value);
    if (option.use == OptionUse::Action)
        sorted.problems.push_back(quote(name) + " is for a command line, and not for a file");
    else if (option.use == OptionUse::Place && !value.starts_with('/'))
        sorted.problems.push_back(name + " needs an absolute path, not " + quote(value));
    else if (option.use == OptionUse::Policy || option.use == OptionUse::Limit)
        sorted.policy.insert(sorted.policy.end(), whole.begin(), whole.end());
    else
        sorted.others.insert(sorted.others.end(), whole.begin(), whole.end());
}

} // namespace

FileOptions sort_options(const std::vector<std::string> &words)
{
    FileOptions sorted;
    for (size_t i = 0; i < words.size(); ++i) {
        const std::string &word = words[i];
        const size_t end = word.find('=');
        const std::string name = word.substr(0, end);
        const KnownOption *const option = find_option(name);
        if (option == nullptr)
            sorted.problems.push_back((word.starts_with('-') ? "unknown option " : "unexpected argument ") +
                                      quote(name));
        else if (!option->has_value && end != std::string::npos)
            sorted.problems.push_back(quote(name) + " takes no value");
        else if (option->has_value && end == std::string::npos && i + 1 == words.size())
            sorted.problems.push_back(quote(name) + " needs a value");
        else if (!option->has_value || end != std::string::npos)
            sort_option(*option, end == std::string::npos ? "" : word.substr(end + 1), sorted);
        else
            sort_option(*option, words[++i], sorted);
    }
    return sorted;
}

} // namespace ogh
