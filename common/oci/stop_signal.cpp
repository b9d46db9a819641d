// SPDX-License-Identifier: Apache-2.0
#include "oci/stop_signal.h"

#include <csignal>
#include <cstring>
#include <string_view>

#include "base/number.h"
#include "base/text.h"

namespace ogh {

namespace {

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
    for (int signal = 1; signal < static_cast<int>(first_realtime); ++signal) {
        if (const char *const known = ::sigabbrev_np(signal); known != nullptr && known == name)
            return signal;
    }
    const unsigned number = realtime(name);
    return number == 0 ? SIGTERM : static_cast<int>(number);
}

} // namespace ogh
