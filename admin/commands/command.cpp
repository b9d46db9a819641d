// SPDX-License-Identifier: Apache-2.0
#include "commands/command.h"

#include <unistd.h>

#include <utility>

#include "base/contains.h"
#include "base/error.h"
#include "base/file.h"
#include "base/text.h"

namespace ogh::admin {

bool parse(CommandLine &cli, CommandOptions &options, int argc, const char *const *argv)
{
    cli.add({"--sysroot", "DIR", "Where the host's files are found (default: /)"}, options.sysroot);
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
        write_all(STDERR_FILENO,
                  "oci-gpu-hooks: " + printable(sentence) + "; 'oci-gpu-hooks doctor' says more\n",
                  "to stderr");
}

} // namespace ogh::admin
