// SPDX-License-Identifier: Apache-2.0
#include "oci/state.h"

#include <cstdint>
#include <limits>

#include "base/error.h"
#include "base/json.h"
#include "base/text.h"

namespace ogh {

namespace {

constexpr const char *state_name = "the container's state on stdin";

pid_t read_pid(const nlohmann::json &state)
{
    const nlohmann::json *pid = find_member(state, "pid");
    if (pid == nullptr)
        return 0;
    if (!pid->is_number_integer())
        throw Error(ErrorKind::Failure, std::string(state_name) + " has a pid that is no whole number");
    // An unsigned value above the signed range would come out negative: both lie outside.
    const auto value = pid->get<std::int64_t>();
    if (value < 0 || value > std::numeric_limits<pid_t>::max())
        throw Error(ErrorKind::Failure, std::string(state_name) + " has a pid out of range");
    return static_cast<pid_t>(value);
}

/** A status that the specification does not know may be a runtime's own word for creating. */
std::string read_not_creating(const nlohmann::json &state)
{
    const nlohmann::json *status = find_member(state, "status");
    for (const char *late : {"running", "paused", "stopped"}) {
        if (status != nullptr && *status == late)
            return late;
    }
    return "";
}

} // namespace

State parse_state(std::string_view text)
{
    const auto state = parse_object(text, state_name);
    State result;
    result.id = string_member(state, "id", state_name);
    result.pid = read_pid(state);
    result.not_creating = read_not_creating(state);
    result.bundle = string_member(state, "bundle", state_name);
    if (!result.bundle.starts_with('/'))
        throw Error(ErrorKind::Failure,
                    std::string(state_name) + " has no absolute bundle, but " + quote(result.bundle));
    return result;
}

} // namespace ogh
