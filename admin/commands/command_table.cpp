// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/text.h"
#include "build_config.h"
#include "commands/command.h"
#include "engines/trial.h"

namespace ogh::admin {

namespace {

constexpr std::array commands{
    Command{"list", "What this host gives, and who has which GPU", list},
    Command{"tags", "Words for the tags of a CI worker", tags},
    Command{"status", "One line for each hook: GPUs, and how many are free", status},
    Command{"history", "Who had which GPU, who waited, who was refused and why", history},
    Command{"metrics", "Who has which GPU in numbers, for Prometheus", metrics},
    Command{"plan", "What a container would get by annotations: plan NAME=VALUE...", plan},
    Command{"cancel", "Has a container wait for no GPU any more: CONTAINER", cancel},
    Command{"check", "Whether a GPU has failed; keeps those that have from being given", check},
    Command{"doctor", "Whether engines call the hooks, and what is wrong if not", doctor},
    Command{"install", "Has an engine call the hooks, with the policy that is given", install},
    Command{"uninstall", "Removes what install has written", uninstall},
    Command{"unwrap", "Puts runc back where a wrapper stands in its place", unwrap},
    Command{"cdi", "CDI specifications whose devices call the hooks", cdi},
    Command{"key", "Keys that pipelines ask with: new, list, remove", key},
    // Not for people: the program of the containers of 'doctor --try'.
    Command{"--probe", "",
            [](int /*argc*/, const char *const * /*argv*/) {
                print(probe());
                return 0;
            }},
};

std::string help()
{
    std::string text =
        "usage: oci-gpu-hooks COMMAND [OPTION...]\n\nHooks that give containers GPUs and directories: what "
        "they do on this host.\n\n";
    for (const Command &command : commands) {
        std::string name(command.name);
        name.resize(12, ' ');
        if (*command.summary != '\0')
            text += "  " + name + command.summary + "\n";
    }
    return text + "\nEach has --help. --version prints the version. See oci-gpu-hooks(1).\n";
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
    return command->run(argc - 1, argv + 1);
}

} // namespace ogh::admin
