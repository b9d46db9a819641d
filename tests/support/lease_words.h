// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "base/command_line.h"
#include "hook/lease_options.h"

namespace ogh::test {

/** The options of leases and drains, as a hook reads them. */
inline LeaseOptions lease_options_of(const std::vector<std::string> &words)
{
    LeaseOptions options;
    CommandLine cli("hook", "A hook.");
    add_lease_options(cli, options);
    add_drain_options(cli, options);
    std::vector<const char *> argv{"hook"};
    for (const std::string &word : words)
        argv.push_back(word.c_str());
    static_cast<void>(cli.parse(static_cast<int>(argv.size()), argv.data()));
    check(options);
    return options;
}

} // namespace ogh::test
