// SPDX-License-Identifier: Apache-2.0
#include "engines/docker.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/letters.h"
#include "base/path_names.h"
#include "base/text.h"
#include "engines/engine.h"
#include "engines/programs.h"
#include "host/host_file.h"
#include "kernel/proc_fs.h"

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
std::vector<std::string> words_of(std::string_view line)
{
    std::vector<std::string> words{""};
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

constexpr size_t max_script = size_t{1} << 18U;

/** NVIDIA's is a program of megabytes: of what is there the beginning alone tells. */
bool is_ours(const ResolvedPath &place)
{
    struct stat status {};
    if (::fstat(place.fd.get(), &status) != 0 || !S_ISREG(status.st_mode))
        return false;
    std::string begin(head.size(), '\0');
    const UniqueFd file =
        ProcFs().reopen(place.fd.get(), O_RDONLY | O_NONBLOCK | O_NOCTTY, quote(place.path));
    const ssize_t length = ::pread(file.get(), begin.data(), begin.size(), 0);
    return length == static_cast<ssize_t>(begin.size()) && begin == head;
}

/** That which its flag --gpus calls, if it does. */
std::vector<Engine> find_docker(const EngineKind &kind, const std::shared_ptr<const Sysroot> &sysroot)
{
    const auto place = sysroot->find(gpu_flag_path);
    const auto script =
        place && is_ours(*place) ? read_host_file(*sysroot, place->path, max_script) : std::nullopt;
    if (!script)
        return {};
    Engine engine = kind.new_engine(sysroot);
    engine.title = "docker --gpus";
    engine.directories_from = "with --gpus it calls " + quote(gpu_flag_path);
    if (auto calls = parse_gpu_flag_script(*script))
        engine.directories.push_back({gpu_flag_path, true, "", std::move(*calls)});
    else
        engine.findings.push_back(
            {Severity::Error, quote(gpu_flag_path) + " was changed: what it calls is not known",
             "remove it, then: oci-gpu-hooks install --engine docker --gpus nvidia-devices"});
    return {std::move(engine)};
}

/** Of what else stands where dockerd looks. */
std::vector<Section> notes_of_docker(const EngineKind &kind, const Sysroot &sysroot, bool is_found)
{
    Findings findings;
    if (const auto vendors = find_vendors_gpu_flag(sysroot))
        findings.push_back({Severity::Warning,
                            quote(*vendors) +
                                " is NVIDIA's own hook: with 'docker run --gpus' a container gets GPUs past "
                                "the hooks and their policy",
                            "remove it, then: oci-gpu-hooks install --engine docker --gpus nvidia-devices"});
    if (const auto program = find_program(sysroot, "nvidia-cdi-hook"); program && is_found)
        findings.push_back({Severity::Note,
                            quote(*program) +
                                " is there: docker 29.2 and later take --gpus for devices of the CDI "
                                "specification of 'nvidia.com/gpu' first, if there is one",
                            "have none, or one of ours: see --cdi in nvidia-devices(8)"});
    if (findings.empty() || !kind.is_installed(sysroot))
        return {};
    return {{"docker --gpus", std::move(findings)}};
}

} // namespace

std::string gpu_flag_script(const std::vector<HookFile> &calls)
{
    std::string text(head);
    for (const HookFile &call : calls) {
        text.append(call_head).append(shell_word(call.executable));
        for (size_t i = 1; i < call.args.size(); ++i)
            text += " " + shell_word(call.args[i]);
        text += "\n";
    }
    return text;
}

std::optional<std::vector<HookFile>> parse_gpu_flag_script(std::string_view text)
{
    if (!text.starts_with(head))
        return std::nullopt;
    std::vector<HookFile> calls;
    for (const std::string &line : split_list(text.substr(head.size()), '\n'))
        if (line.starts_with(call_head))
            calls.push_back(hook_file_of(words_of(std::string_view(line).substr(call_head.size()))));
    return gpu_flag_script(calls) == text ? std::optional(calls) : std::nullopt;
}

HookFile hook_file_of(std::vector<std::string> words)
{
    HookFile file;
    file.path = gpu_flag_path;
    file.executable = words.front();
    file.args = std::move(words);
    file.args.front() = file_name_of(file.executable);
    file.has_environment = true; // an empty one, which is its own
    file.when.always = true;
    file.stages = {"createRuntime"}; // prestart comes just before, in the same place
    file.ours = find_hook(file.args.front());
    file.name = file.ours == nullptr ? file.args.front() : file.ours->file; // in the order of the calls
    return file;
}

std::optional<std::string> find_vendors_gpu_flag(const Sysroot &sysroot)
{
    for (const char *const directory : program_directories()) {
        std::string path = path_in(directory, file_name_of(gpu_flag_path));
        const auto place = sysroot.find(path);
        if (place && !is_ours(*place))
            return path;
    }
    return std::nullopt;
}

/** dockerd(8); "features" of daemon.json. */
const EngineKind &docker_kind()
{
    static const EngineKind kind{
        .name = "docker",
        .program = "dockerd",
        .way = EngineKind::Way::Cdi,
        .install_options = {"--gpus"},
        .configuration_files = {"/etc/docker/daemon.json"},
        .cdi =
            CdiSwitch{R"("cdi":true)", R"("cdi":false)",
                      R"(have {"features": {"cdi": true}} in /etc/docker/daemon.json, and restart docker)"},
        .how_to_ask = "whoever may use Docker asks by: docker run --device DEVICE IMAGE",
        .left_to_do =
            {"dockerd reads /etc/cdi where its daemon.json has \"features\": {\"cdi\": true}, or by "
             "default if it is new enough; 'docker info' lists its CDI directories"},
        .find = find_docker,
        .notes = notes_of_docker,
    };
    return kind;
}

} // namespace ogh::admin
