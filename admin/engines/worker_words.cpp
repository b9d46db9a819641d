// SPDX-License-Identifier: Apache-2.0
#include "engines/worker_words.h"

#include "base/contains.h"
#include "base/letters.h"
#include "base/path_names.h"
#include "base/text.h"

namespace ogh::admin {

std::vector<std::string> split_at_nul(std::string_view text)
{
    std::vector<std::string> parts;
    while (!text.empty())
        parts.emplace_back(next_part(text, '\0'));
    return parts;
}

bool is_worker(const std::vector<std::string> &words)
{
    const std::vector<std::string> behind(words.begin() + 1, words.end());
    return file_name_of(words.front()) == "concourse" &&
           (contains(behind, "worker") || contains(behind, "quickstart"));
}

std::optional<std::string> worker_setting(const std::vector<std::string> &words,
                                          const std::vector<std::string> &environment,
                                          const std::string &option)
{
    const std::string name = (contains(words, "worker") ? "" : "worker-") + option;
    std::optional<std::string> found;
    for (size_t i = 1; i < words.size(); ++i) {
        if (words[i] == "--" + name && i + 1 < words.size())
            found = words[++i];
        else if (words[i].starts_with("--" + name + "="))
            found = words[i].substr(name.size() + 3);
    }
    if (found)
        return found;
    std::string variable = "CONCOURSE_";
    for (const char c : name)
        variable += c == '-' ? '_' : to_upper(c);
    for (const std::string &each : environment)
        if (each.starts_with(variable + "="))
            found = each.substr(variable.size() + 1);
    return found && found->empty() ? std::nullopt : found;
}

} // namespace ogh::admin
