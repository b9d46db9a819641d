// SPDX-License-Identifier: Apache-2.0
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <exception>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/exit_status.h"
#include "base/text.h"
#include "build_config.h"
#include "commands/command.h"
#include "engines/trial.h"

namespace {

constexpr std::array commands{
    ogh::admin::Command{"list", "What this host hands out, and who has which GPU", ogh::admin::list},
    ogh::admin::Command{"tags", "Words for the tags of a CI worker", ogh::admin::tags},
    ogh::admin::Command{"status", "One line for each hook: GPUs, and how many are free", ogh::admin::status},
    ogh::admin::Command{"plan", "What a container would get by annotations: plan KEY=VALUE...",
                        ogh::admin::plan},
    ogh::admin::Command{"doctor", "Whether engines call the hooks, and what is wrong if not",
                        ogh::admin::doctor},
    ogh::admin::Command{"install", "Has an engine call the hooks, with the policy that is given",
                        ogh::admin::install},
    ogh::admin::Command{"uninstall", "Removes what install has written", ogh::admin::uninstall},
    ogh::admin::Command{"unwrap", "Puts runc back where a wrapper stands in its place", ogh::admin::unwrap},
    ogh::admin::Command{"cdi", "CDI specifications whose devices call the hooks", ogh::admin::cdi},
};

std::string help()
{
    std::string text =
        "usage: oci-gpu-hooks COMMAND [OPTION...]\n\nHooks that give containers GPUs and folders: what "
        "they do on this host.\n\n";
    for (const ogh::admin::Command &command : commands) {
        std::string name(command.name);
        name.resize(12, ' ');
        text += "  " + name + command.summary + "\n";
    }
    return text + "\nEach has --help. --version prints the version. See oci-gpu-hooks(1).\n";
}

// Not for people: what the scripts of the archive call.
constexpr std::array scripts{
    ogh::admin::Command{"--unpack", "", ogh::admin::unpack},
    ogh::admin::Command{"--take-away", "", ogh::admin::take_away},
};

int run(int argc, const char *const *argv)
{
    const std::string_view word = argc > 1 ? argv[1] : "";
    if (word == "--help" || word == "-h") {
        ogh::admin::print(help());
        return 0;
    }
    if (word == "--version") {
        ogh::admin::print("oci-gpu-hooks " OGH_VERSION "\n");
        return 0;
    }
    // Not for people: the program of the containers that 'doctor --try' starts.
    if (word == "--probe") {
        ogh::admin::print(ogh::admin::probe());
        return 0;
    }
    for (const ogh::admin::Command &script : scripts)
        if (word == script.name)
            return script.run(argc - 1, argv + 1);
    const auto *const command =
        std::find_if(commands.begin(), commands.end(), [&](const auto &each) { return word == each.name; });
    if (command == commands.end())
        throw ogh::Error(ogh::ErrorKind::Usage,
                         (word.empty() ? "no command is named" : "there is no command " + ogh::quote(word)) +
                             "; 'oci-gpu-hooks --help' lists them");
    return command->run(argc - 1, argv + 1);
}

int failed(ogh::ErrorKind kind, const char *message)
{
    std::fprintf(stderr, "oci-gpu-hooks: %s\n", message);
    return static_cast<int>(ogh::exit_status(kind));
}

} // namespace

int main(int argc, char **argv)
{
    ::umask(S_IWGRP | S_IWOTH); // what is written here is for all to read
    try {
        return run(argc, argv);
    } catch (const ogh::Error &error) {
        return failed(error.kind(), error.what());
    } catch (const std::exception &error) {
        return failed(ogh::ErrorKind::Failure, error.what());
    }
}
