// SPDX-License-Identifier: Apache-2.0
#include "hook/file_options.h"

#include "base/text.h"
#include "hook/declared_options.h"

namespace ogh {

namespace {

void sort_option(const DeclaredOption &option, const std::string &value, FileOptions &sorted)
{
    const std::string name = option.name;
    std::vector<std::string> whole{name};
    sorted.only_looks = sorted.only_looks || option.is(option_use::look);
    sorted.has_limit = sorted.has_limit || option.is(option_use::limit);
    if (option.type != nullptr && (value.empty() || value.starts_with('-')))
        whole.front() += "=" + value; // or it would be taken for an option
    else if (option.type != nullptr)
        whole.push_back(value);
    if (option.is(option_use::action))
        sorted.problems.push_back(quote(name) + " is for a command line, and not for a file");
    else if (option.is(option_use::place) && !value.starts_with('/'))
        sorted.problems.push_back(name + " needs an absolute path, not " + quote(value));
    else if (option.is(option_use::policy))
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
        const DeclaredOption *const option = find_option(name);
        const bool has_value = option != nullptr && option->type != nullptr && *option->type != '[';
        if (option == nullptr)
            sorted.problems.push_back((word.starts_with('-') ? "unknown option " : "unexpected argument ") +
                                      quote(name));
        else if (!has_value && end != std::string::npos && !option->is(option_use::action))
            sorted.problems.push_back(quote(name) + " takes no value");
        else if (has_value && end == std::string::npos && i + 1 == words.size())
            sorted.problems.push_back(quote(name) + " needs a value");
        else if (!has_value || end != std::string::npos)
            sort_option(*option, end == std::string::npos ? "" : word.substr(end + 1), sorted);
        else
            sort_option(*option, words[++i], sorted);
    }
    return sorted;
}

} // namespace ogh
