// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

#include "nvidia-devices/host/imex.h"
#include "nvidia-devices/request/capabilities.h"
#include "promise.h"
#include "request/availability.h"
#include "request/selection.h"
#include "request/selectors.h"
#include "request/visible_devices.h"
#include "target.h"

namespace ogh::fuzz::selectors {

using nvidia_devices::Capabilities;
using nvidia_devices::Capability;

namespace {

/** What is asked for, by whom, and what the host allows. */
struct Case {
    RequestValue asked{"all", "annotation 'k'"};
    RequestValue capabilities{"compute", "annotation 'k.capabilities'"};
    std::optional<std::string> allow;
    std::optional<unsigned> max_devices;
    Config config;
};

/** A line each: `ask VALUE`, `capabilities VALUE`, `allow LIST`, `max DIGIT`, `env NAME=VALUE`. */
Case read_case(std::string_view input)
{
    Case result;
    std::istringstream lines{std::string(input)};
    for (std::string line; std::getline(lines, line);) {
        const size_t end = std::min(line.find(' '), line.size());
        const std::string word = line.substr(0, end);
        const std::string rest = line.substr(std::min(end + 1, line.size()));
        if (word == "ask")
            result.asked.value = rest;
        else if (word == "capabilities")
            result.capabilities.value = rest;
        else if (word == "allow")
            result.allow = rest;
        else if (word == "max")
            result.max_devices = rest.empty() ? 0U : static_cast<unsigned>(rest[0] - '0') % 10U;
        else if (word == "env")
            result.config.environment.push_back(rest);
    }
    return result;
}

/** Of six: the fourth has a fault, the fifth is kept from use and has no index, the sixth is given by name alone. */
std::vector<Candidate> fixed_candidates()
{
    std::vector<Candidate> list;
    for (unsigned i = 0; i < 6; ++i) {
        Candidate candidate;
        if (i != 4)
            candidate.index = i < 4 ? i : 4;
        candidate.address = {0, static_cast<std::uint8_t>(0x10 * i), 0, 0};
        candidate.names = {"GPU-" + std::to_string(i) + "a"};
        candidate.groups = {i < 3 ? "gfx1100" : "gfx90a"};
        candidate.description = candidate.names.front();
        list.push_back(candidate);
    }
    list[2].closed = "the device cgroup keeps it";
    list[3].problem = "it does not answer";
    list[4].problem = "it is excluded";
    list[4].problem_kind = ErrorKind::NotAvailable;
    list[5].only_by_name = "it has the screen";
    return list;
}

/** One item that means the same. */
std::string text_of(const Selectors &selectors)
{
    if (selectors.none || selectors.environment)
        return selectors.none ? "none" : "env";
    std::string text = selectors.all        ? "all"
                       : selectors.allowed  ? "allowed"
                       : selectors.any != 0 ? any_text(selectors.any, selectors.any_of)
                                            : "";
    for (const Selector &selector : selectors.named)
        text += (text.empty() ? "" : ",") + selector.text;
    return text;
}

void check_words(const Selectors &selectors)
{
    const bool others = selectors.all || selectors.allowed || selectors.any != 0 || !selectors.named.empty();
    require(!(selectors.none && selectors.environment) && (selectors.none || selectors.environment) != others,
            "'none' and 'env' stand alone, and something is always asked for");
    require(selectors.all + selectors.allowed + (selectors.any != 0) < 2,
            "'all', 'allowed' and 'any:N' leave nothing for each other");
}

std::optional<Selectors> check_selectors(const RequestValue &asked)
{
    const auto outcome = attempt([&] { return parse_selectors(asked); });
    require(outcome.value || outcome.kind == ErrorKind::Usage, "selectors are refused as a wrong use");
    if (outcome.value) {
        check_words(*outcome.value);
        require(parse_selectors({text_of(*outcome.value), ""}) == *outcome.value,
                "the same text means the same");
    }
    return outcome.value;
}

enum class Groups { Count, DoNotCount };

/** By index, address or name, or as one of a group. */
bool names_it(const Selectors &selectors, const Candidate &candidate, Groups groups = Groups::Count)
{
    const auto means = [&](const Selector &selector) {
        if (const auto *range = std::get_if<IndexRange>(&selector.what))
            return candidate.index && *candidate.index >= range->first && *candidate.index <= range->last;
        if (const auto *address = std::get_if<PciAddress>(&selector.what))
            return *address == candidate.address;
        std::string text = selector.text;
        std::transform(text.begin(), text.end(), text.begin(),
                       [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
        return text == "gpu-" + candidate.names.front().substr(4) ||
               (groups == Groups::Count && text == candidate.groups.front());
    };
    return std::any_of(selectors.named.begin(), selectors.named.end(), means);
}

void check_chosen(const std::vector<size_t> &places, const std::vector<Candidate> &candidates,
                  const Selectors &selectors, const SelectionPolicy &policy)
{
    require(std::is_sorted(places.begin(), places.end(), std::less_equal<>()),
            "each GPU is chosen once, in order");
    require(places.empty() == selectors.none, "only 'none' is nothing");
    require(!policy.max_devices || places.size() <= *policy.max_devices,
            "there are not more than may be given");
    require(places.size() >= selectors.any, "'any:N' is N");
    const bool is_cut = policy.max_devices && places.size() == *policy.max_devices;
    for (size_t i = 0; i < candidates.size(); ++i) {
        const Candidate &candidate = candidates[i];
        const bool chosen = std::find(places.begin(), places.end(), i) != places.end();
        const bool allowed = !policy.allow || policy.allow->all || names_it(*policy.allow, candidate);
        const bool named = names_it(selectors, candidate);
        const bool of_group = has_name(candidate.groups, selectors.any_of);
        const bool any = selectors.any != 0 && selectors.any_of.empty();
        const bool wanted = named || of_group ||
                            ((selectors.all || any || (selectors.allowed && candidate.closed.empty())) &&
                             candidate.only_by_name.empty());
        const bool usable = candidate.problem.empty() && allowed;
        require(!chosen || usable, "what is chosen may be given");
        require(!chosen || wanted, "what is chosen was asked for");
        require(chosen || !names_it(selectors, candidate, Groups::DoNotCount), "what was named is chosen");
        require(chosen || !usable || !wanted || selectors.any != 0 || is_cut, "'all' is all");
    }
}

void check_choice(const Case &input, const Selectors &selectors)
{
    SelectionPolicy policy;
    policy.max_devices = input.max_devices;
    if (input.allow) {
        const auto allowed = attempt([&] {
            return parse_allowed_selectors({*input.allow, "option '--allow'"});
        });
        require(allowed.value || allowed.kind == ErrorKind::Usage, "a policy is refused as a wrong use");
        if (!allowed.value)
            return;
        require(!allowed.value->none && !allowed.value->environment && allowed.value->any == 0,
                "a policy is a list of GPUs");
        policy.allow = allowed.value;
    }
    const auto candidates = fixed_candidates();
    Notes notes;
    const auto outcome = attempt([&] { return first_of(resolve(selectors, candidates, policy, notes)); });
    for (const Note &note : notes)
        require(is_one_clean_line(note.text), "a note is one clean line");
    require(outcome.kind != ErrorKind::Busy, "what is free is not looked at here");
    if (outcome.value)
        check_chosen(*outcome.value, candidates, selectors, policy);
    else
        require(outcome.kind != ErrorKind::Usage && outcome.kind != ErrorKind::Failure,
                "what is not there, held or not allowed is said to be that");
}

void check_environment(const Case &input)
{
    for (const auto &read : {attempt([&] { return nvidia_visible_devices(input.config); }),
                             attempt([&] { return amd_visible_devices(input.config); })}) {
        require(read.value || read.kind == ErrorKind::Usage, "variables are refused as a wrong use");
        const bool says_something = read.value && *read.value;
        require(!says_something || !input.config.environment.empty(),
                "who has no variables asks for nothing");
        if (!says_something)
            continue;
        check_words(**read.value);
        require(!(*read.value)->environment, "variables name their GPUs, or how many");
        check_choice(input, **read.value);
    }
}

void check_capabilities(const Outcome<Capabilities> &outcome)
{
    require(outcome.value || outcome.kind == ErrorKind::Usage, "capabilities are refused as a wrong use");
    if (!outcome.value)
        return;
    require(*outcome.value != Capabilities{}, "something is always wanted");
    for (const Capability each : {Capability::Gds, Capability::Gdrcopy, Capability::Mofed})
        require(outcome.value->has(each) == outcome.value->named.has(each), "'all' is not all of these");
}

void check_channels(const RequestValue &asked)
{
    const auto channels = attempt([&] { return nvidia_devices::parse_imex_channels(asked); });
    const auto policy = attempt([&] { return nvidia_devices::ImexPolicy(asked); });
    for (const ErrorKind kind : {channels.kind, policy.kind})
        require(kind == ErrorKind::None || kind == ErrorKind::Usage, "channels are refused as a wrong use");
    if (!channels.value)
        return;
    const auto &list = *channels.value;
    require(!list.empty() && list.size() <= 256, "some channels are asked for, and not too many");
    require(std::is_sorted(list.begin(), list.end(), std::less_equal<>()), "each channel once, in order");
    require(list.back() < 1U << 20U, "a channel is one that there may be");
    require(policy.value.has_value(), "what may be asked for may be handed out");
    require(attempt([&] {
                policy.value->require(list);
                return true;
            }).value.has_value(),
            "who hands out what is asked for refuses nothing");
}

} // namespace

void check(std::string_view input)
{
    const Case request = read_case(input);
    const auto selectors = check_selectors(request.asked);
    if (selectors && !selectors->environment)
        check_choice(request, *selectors);
    check_environment(request);
    check_channels(request.asked);
    check_capabilities(attempt([&] { return nvidia_devices::parse_capabilities(request.capabilities); }));
    check_capabilities(attempt([&] { return nvidia_devices::capabilities_of_environment(request.config); }));
}

} // namespace ogh::fuzz::selectors
