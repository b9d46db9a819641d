// SPDX-License-Identifier: Apache-2.0
#include "commands/command.h"

#include <unistd.h>

#include "base/file.h"

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

} // namespace ogh::admin
