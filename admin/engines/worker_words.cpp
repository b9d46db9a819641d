// SPDX-License-Identifier: Apache-2.0
#include "engines/worker_words.h"

#include <algorithm>

#include "base/path_names.h"

namespace ogh::admin {

namespace {

bool has_word(const std::vector<std::string> &words, const char *word)
{
    return std::find(words.begin() + 1, words.end(), word) != words.end();
}

} // namespace

std::vector<std::string> split_at_nul(std::string_view text)
{
    std::vector<std::string> parts;
    for (size_t start = 0; start < text.size();) {
        const size_t end = std::min(text.find('\0', start), text.size());
        parts.emplace_back(text.substr(start, end - start));
        start = end + 1;
    }
    return parts;
}

bool is_worker(const std::vector<std::string> &words)
{
    return file_name_of(words.front()) == "concourse" &&
           (has_word(words, "worker") || has_word(words, "quickstart"));
}

WorkerSettings::WorkerSettings(std::vector<std::string> words, std::vector<std::string> environment)
    : words_(std::move(words)), environment_(std::move(environment)),
      is_quickstart_(!has_word(words_, "worker"))
{
}

std::optional<std::string> WorkerSettings::value(const std::string &flag, const std::string &variable) const
{
    const std::string option = "--" + std::string(is_quickstart_ ? "worker-" : "") + flag;
    std::optional<std::string> found;
    for (size_t i = 1; i < words_.size(); ++i) {
        if (words_[i] == option && i + 1 < words_.size())
            found = words_[++i];
        else if (words_[i].starts_with(option + "="))
            found = words_[i].substr(option.size() + 1);
    }
    if (found)
        return found;
    const std::string setting = "CONCOURSE_" + std::string(is_quickstart_ ? "WORKER_" : "") + variable + "=";
    for (const std::string &each : environment_) // the last of equal names
        if (each.starts_with(setting))
            found = each.substr(setting.size());
    return found && found->empty() ? std::nullopt : found;
}

} // namespace ogh::admin
