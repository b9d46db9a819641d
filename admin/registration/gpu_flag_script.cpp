// SPDX-License-Identifier: Apache-2.0
#include "registration/gpu_flag_script.h"

#include "base/letters.h"
#include "base/path_names.h"
#include "base/text.h"

namespace ogh::admin {

namespace {

constexpr std::string_view head = "#!/bin/sh\n"
                                  "# Written by 'oci-gpu-hooks install --engine docker --gpus', see 'docker' "
                                  "in oci-gpu-hooks(7). docker calls it for\n"
                                  "# containers with --gpus, and for no others; the container's state comes "
                                  "on standard input. A hook that fails ends it.\n"
                                  "set -eu\n"
                                  "state=$(/bin/cat)\n";

constexpr std::string_view call_head = "printf %s \"$state\" | /usr/bin/env -i ";

bool is_plain(std::string_view word)
{
    constexpr std::string_view others = "-_./:,=@%+";
    for (const char c : word)
        if (!is_letter_or_digit(c) && others.find(c) == std::string_view::npos)
            return false;
    return !word.empty();
}

/** As a shell takes it for that word. */
std::string shell_word(const std::string &word)
{
    if (is_plain(word))
        return word;
    std::string text = "'";
    for (const char c : word)
        text += c == '\'' ? std::string(R"('\'')") : std::string(1, c);
    return text + "'";
}

/** The words of a line that shell_word() has made. */
HookCall words_of(std::string_view line)
{
    HookCall words{""};
    bool is_quoted = false;
    for (size_t i = 0; i < line.size(); ++i) {
        if (line[i] == '\'')
            is_quoted = !is_quoted;
        else if (!is_quoted && line[i] == ' ')
            words.emplace_back();
        else if (!is_quoted && line[i] == '\\' && i + 1 < line.size())
            words.back() += line[++i];
        else
            words.back() += line[i];
    }
    return words;
}

} // namespace

std::string gpu_flag_script(const std::vector<HookCall> &calls)
{
    std::string text(head);
    for (const HookCall &call : calls) {
        text += call_head;
        for (size_t i = 0; i < call.size(); ++i)
            text += (i == 0 ? "" : " ") + shell_word(call[i]);
        text += "\n";
    }
    return text;
}

bool is_gpu_flag_script(std::string_view text)
{
    return text.starts_with(head);
}

std::optional<std::vector<HookCall>> parse_gpu_flag_script(std::string_view text)
{
    if (!is_gpu_flag_script(text))
        return std::nullopt;
    std::vector<HookCall> calls;
    for (const std::string &line : split_list(text.substr(head.size()), '\n'))
        if (line.starts_with(call_head))
            calls.push_back(words_of(std::string_view(line).substr(call_head.size())));
    return gpu_flag_script(calls) == text ? std::optional(calls) : std::nullopt;
}

HookFile hook_file_of(const HookCall &call)
{
    HookFile file;
    file.path = gpu_flag_path;
    file.executable = call.front();
    file.args = call;
    file.args.front() = file_name_of(file.executable);
    file.has_environment = true; // an empty one, which is its own
    file.when.always = true;
    file.stages = {"createRuntime"}; // prestart comes just before, in the same place
    file.ours = find_hook(file.args.front());
    file.name = file.ours == nullptr ? file.args.front() : file.ours->file; // in the order of the calls
    return file;
}

} // namespace ogh::admin
