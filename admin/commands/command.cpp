// SPDX-License-Identifier: Apache-2.0
#include "commands/command.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "base/contains.h"
#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "build_config.h"
#include "registration/manifest.h"

namespace ogh::admin {

namespace {

constexpr std::array commands{
    Command{"list", "What this host gives, and who has which GPU", list},
    Command{"tags", "Words for the tags of a CI worker", tags},
    Command{"status", "One line for each hook: GPUs, and how many are free", status},
    Command{"history", "Who had which GPU, who waited, who was refused and why", history},
    Command{"metrics", "Who has which GPU in numbers, for Prometheus", metrics},
    Command{"plan", "What a container would get by annotations: plan NAME=VALUE...", plan},
    Command{"cancel", "Has a container wait for no GPU any more, so that it does not start: CONTAINER",
            cancel},
    Command{"check", "Whether a GPU has failed; --drain keeps those that have from being given", check},
    Command{"doctor", "Whether engines call the hooks, and what is wrong if not", doctor},
    Command{"install", "Has an engine call the hooks, with the policy that is given", install},
    Command{"uninstall", "Removes what install has written", uninstall},
    Command{"unwrap", "Puts runc back where a wrapper stands in its place; removes nothing", unwrap},
    Command{"cdi", "CDI specifications whose devices call the hooks", cdi},
    Command{"key", "Keys that pipelines ask with: new, list, remove", key},
};

std::string help()
{
    std::string text =
        "usage: oci-gpu-hooks COMMAND [OPTION...]\n\nHooks that give containers GPUs and directories: what "
        "they do on this host.\n\n";
    for (const Command &command : commands) {
        std::string name(command.name);
        name.resize(12, ' ');
        text += "  " + name + command.summary + "\n";
    }
    return text + "\nEach has --help. --version prints the version. See oci-gpu-hooks(1).\n";
}

/** What of its configuration, its directories and the files in effect cannot be read, a sentence each that names it. */
std::vector<std::string> unread(const Engine &engine)
{
    std::vector<std::string> sentences;
    if (engine.is_stopped)
        for (const Finding &finding : engine.findings)
            if (finding.severity == Severity::Error)
                sentences.push_back(finding.text);
    for (const HookDirectory &directory : engine.directories)
        if (!directory.problem.empty())
            sentences.push_back(directory.problem);
    for (const FileInEffect &each : files_in_effect(engine.directories))
        if (!each.file->problem.empty())
            sentences.push_back(quote(each.file->path) + " cannot be read: " + each.file->problem);
    return sentences;
}

void say_unread(const std::string &sentence)
{
    write_all(STDERR_FILENO, "oci-gpu-hooks: " + printable(sentence) + "; 'oci-gpu-hooks doctor' says more\n",
              "to stderr");
}

} // namespace

int run_command(int argc, const char *const *argv)
{
    const std::string_view word = argc > 1 ? argv[1] : "";
    if (word == "--help" || word == "-h" || word == "--version") {
        print(word == "--version" ? "oci-gpu-hooks " OGH_VERSION "\n" : help());
        return 0;
    }
    const auto *const command =
        std::find_if(commands.begin(), commands.end(), [&](const auto &each) { return word == each.name; });
    if (command == commands.end())
        throw Error(ErrorKind::Usage,
                    (word.empty() ? "no command is named" : "there is no command " + quote(word)) +
                        "; 'oci-gpu-hooks --help' lists them");
    Invocation call(command->name, command->summary, argc - 1, argv + 1);
    return command->run(call.cli, call);
}

bool Invocation::parse()
{
    cli.add({"--sysroot", "DIR", "Where the host's files are found (default: /)"}, sysroot);
    const auto text = cli.parse(argc, argv);
    if (text)
        print(*text);
    return !text;
}

void print(const std::string &text)
{
    write_all(STDOUT_FILENO, text, "to stdout");
}

const OurHook &named_hook(const std::string &name)
{
    std::vector<std::string> names;
    for (const OurHook &hook : our_hooks()) {
        if (hook.name == name)
            return hook;
        names.emplace_back(hook.name);
    }
    throw Error(ErrorKind::Usage, "there is no hook " + quote(name) + "; there are " + quote_list(names));
}

void refuse(const std::vector<std::string> &sentences)
{
    std::string text;
    for (const std::string &sentence : sentences)
        text += (text.empty() ? "" : "; ") + sentence;
    if (!text.empty())
        throw Error(ErrorKind::BrokenHost, text);
}

std::vector<InstalledHook> hooks_of_host(const std::shared_ptr<const Sysroot> &sysroot)
{
    const std::vector<Engine> engines = find_engines(sysroot);
    say_what_is_unread(engines);
    // Of a worker that does not run all that is known is there; without it find_engines() finds none.
    try {
        static_cast<void>(Manifest::read(*sysroot));
    } catch (const Error &error) {
        say_unread(error.what());
    }
    std::vector<InstalledHook> hooks = installed_hooks(*sysroot, engines);
    if (hooks.empty() &&
        !is_this_host(*sysroot)) // a directory with devices alone: what the hooks here would give there
        for (const OurHook &hook : our_hooks())
            hooks.push_back({&hook, {}, {}});
    return hooks;
}

void say_what_is_unread(const std::vector<Engine> &engines)
{
    constexpr size_t most = 8;
    std::vector<std::string> sentences;
    for (const Engine &engine : engines)
        for (std::string &sentence : unread(engine))
            if (!contains(sentences, sentence))
                sentences.push_back(std::move(sentence));
    if (sentences.size() > most)
        sentences.resize(most);
    for (const std::string &sentence : sentences)
        say_unread(sentence);
}

} // namespace ogh::admin
