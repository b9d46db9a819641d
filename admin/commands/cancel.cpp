// SPDX-License-Identifier: Apache-2.0
#include <cstdlib>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/text.h"
#include "commands/command.h"
#include "lease/leases.h"

namespace ogh::admin {

int cancel(CommandLine &cli, Invocation &call)
{
    bool all = false;
    std::vector<std::string> words;
    cli.add_flag("--all", "All containers that wait, as for a worker that is stopped", all);
    cli.add_words("CONTAINER", "Its id as 'oci-gpu-hooks list' prints it, or the beginning of it", words);
    if (!call.parse())
        return EXIT_SUCCESS;
    if (words.size() != (all ? 0 : 1))
        throw Error(ErrorKind::Usage, "cancel takes the id of one container, or --all");
    const auto sysroot = call.open();
    Leases::require(*sysroot);
    const std::vector<std::string> ended =
        Leases(*sysroot).cancel(all ? std::nullopt : std::optional(words.front()));
    print(!all            ? "told the hook of container " + quote(ended.front()) + " to end\n"
          : ended.empty() ? "no container waits\n"
                          : "told the hooks of containers " + quote_list(ended) + " to end\n");
    return EXIT_SUCCESS;
}

} // namespace ogh::admin
