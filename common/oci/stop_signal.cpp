// SPDX-License-Identifier: Apache-2.0
#include "oci/stop_signal.h"

#include <array>
#include <csignal>
#include <string_view>

#include "base/number.h"
#include "base/text.h"

namespace ogh {

namespace {

struct NamedSignal {
    std::string_view name;
    int number;
};

/** Those that a program can be told to end by. */
constexpr std::array named_signals = {
    NamedSignal{"TERM", SIGTERM}, NamedSignal{"INT", SIGINT},   NamedSignal{"QUIT", SIGQUIT},
    NamedSignal{"HUP", SIGHUP},   NamedSignal{"KILL", SIGKILL}, NamedSignal{"USR1", SIGUSR1},
    NamedSignal{"USR2", SIGUSR2}, NamedSignal{"PWR", SIGPWR},   NamedSignal{"WINCH", SIGWINCH},
    NamedSignal{"ABRT", SIGABRT}, NamedSignal{"ALRM", SIGALRM}, NamedSignal{"CONT", SIGCONT},
};

/** As C libraries of Linux number it, which keep the two below for themselves. */
constexpr unsigned first_realtime = 34;
constexpr unsigned last = 64;

/** From first_realtime on; 0 if it is none. */
unsigned realtime(std::string_view name)
{
    constexpr std::string_view from_first = "RTMIN";
    constexpr std::string_view from_last = "RTMAX";
    const bool up = name.starts_with(from_first);
    if (!up && !name.starts_with(from_last))
        return 0;
    name.remove_prefix(from_first.size());
    if (name.empty())
        return up ? first_realtime : last;
    const auto distance = name.starts_with(up ? '+' : '-')
                              ? parse_small_number(name.substr(1), last - first_realtime)
                              : std::nullopt;
    if (!distance)
        return 0;
    return up ? first_realtime + *distance : last - *distance;
}

} // namespace

int stop_signal(const Config &config)
{
    const auto found = config.annotations.find("org.opencontainers.image.stopSignal");
    std::string_view name = found == config.annotations.end() ? "" : trimmed(found->second);
    if (const auto number = parse_small_number(name, last); number && *number != 0)
        return static_cast<int>(*number);
    constexpr std::string_view prefix = "SIG";
    if (name.starts_with(prefix))
        name.remove_prefix(prefix.size());
    for (const NamedSignal &signal : named_signals) {
        if (signal.name == name)
            return signal.number;
    }
    const unsigned number = realtime(name);
    return number == 0 ? SIGTERM : static_cast<int>(number);
}

} // namespace ogh
