// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <limits>

#include "oci/state.h"
#include "promise.h"
#include "reference_json.h"
#include "target.h"

namespace ogh::fuzz::state {

using nlohmann::json;

namespace {

bool is_pid(const json &value)
{
    constexpr auto most = std::numeric_limits<pid_t>::max();
    if (value.is_number_unsigned())
        return value.get<std::uint64_t>() <= std::uint64_t{most};
    return value.is_number_integer() && value.get<std::int64_t>() >= 0 && value.get<std::int64_t>() <= most;
}

bool is_state(const json &document)
{
    const json *pid = member(document, "pid");
    const json *bundle = member(document, "bundle");
    return is_plain_if_there(member(document, "id")) && (pid == nullptr || is_pid(*pid)) &&
           bundle != nullptr && is_plain_string(*bundle) &&
           bundle->get_ref<const std::string &>().starts_with('/');
}

void check_content(const State &state, const json &document)
{
    const json *id = member(document, "id");
    const json *pid = member(document, "pid");
    require(state.id == (id == nullptr ? "" : id->get<std::string>()), "the id is the state's");
    require(state.pid == (pid == nullptr ? 0 : pid->get<std::int64_t>()), "the pid is the state's");
    require(state.bundle == document.at("bundle").get<std::string>(), "the bundle is the state's");
}

} // namespace

void check(std::string_view input)
{
    const auto outcome = attempt([&] { return parse_state(input); });
    const auto document = whole_object(input);
    const bool is_right = document && is_state(*document);
    if (!outcome.value) {
        require(outcome.kind == ErrorKind::Failure, "a state that cannot be used is a plain failure");
        require(!is_right || nesting(input) != Nesting::Fine, "what a runtime may write is read");
        return;
    }
    require(is_right, "a state that was read is one");
    require(nesting(input) != Nesting::TooDeep, "nesting has a limit");
    check_content(*outcome.value, *document);
}

} // namespace ogh::fuzz::state
