// SPDX-License-Identifier: Apache-2.0
#include "hook/lease_options.h"

#include <algorithm>
#include <string_view>

#include "base/duration.h"
#include "base/error.h"
#include "base/number.h"
#include "base/text.h"
#include "hook/declared_options.h"
#include "lease/state/lease_file.h"
#include "oci/stop_signal.h"
#include "request/annotations.h"

namespace ogh {

namespace {

/** "NAME=N" */
Quota quota_of(const std::string &text)
{
    constexpr unsigned most_devices = 1U << 20U;
    const size_t end = text.rfind('=');
    const auto most =
        end == std::string::npos ? std::nullopt : parse_small_number(text.substr(end + 1), most_devices);
    if (!most || *most == 0 || end == 0)
        throw Error(ErrorKind::Usage, "--quota takes NAME=N with a number from 1 on, not " + quote(text));
    return {text.substr(0, end), *most};
}

/** What has a dot in it is an annotation's name, and no other one. */
bool is_annotation(const Quota &quota)
{
    return quota.name.find('.') != std::string::npos;
}

/** One more of an option that is given several times. */
void add_quota(Quotas &quotas, Quota quota)
{
    if (has_quota(quotas, quota.name))
        throw Error(ErrorKind::Usage, "--quota takes NAME=N once each: " + quote(quota.name) + " is twice");
    if (is_annotation(quota) && !is_engines_annotation(quota.name))
        throw Error(ErrorKind::Usage,
                    "--quota takes a name without a dot, or an annotation that an engine writes after the "
                    "user's, and " +
                        quote(quota.name) +
                        " is none of those in oci-gpu-hooks-leases(7): who chooses the value would "
                        "choose no limit");
    quotas.push_back(std::move(quota));
}

/** In which a request counts, each once. */
Quotas quotas_of(const std::optional<Config> &config, const Request &request, const LeaseOptions &options)
{
    Quotas quotas;
    for (const Quota &quota : options.quotas) {
        if (!is_annotation(quota))
            quotas.push_back({"policy:" + quota.name, quota.most});
        else if (config)
            quotas.push_back({quota.name + "=" + engines_value(*config, quota.name), quota.most});
    }
    if (request.limits.quota)
        quotas.push_back({"key:" + request.key, *request.limits.quota});
    for (const Quota &quota : quotas)
        check_quota_name(quota.name);
    std::sort(quotas.begin(), quotas.end(), [](const Quota &a, const Quota &b) { return a.name < b.name; });
    return quotas;
}

/** @param origin of the text, for the message */
std::chrono::seconds duration_of(std::string_view text, const std::string &origin)
{
    const auto duration = parse_duration(text);
    if (!duration)
        throw Error(ErrorKind::Usage, "the " + origin + " is " + quote(text) +
                                          ", which is no duration such as '90s', '5m' or '2h'");
    return *duration;
}

template<typename Time> void add_duration(CommandLine &cli, const CommandLine::Option &option, Time &value)
{
    cli.add(option, [name = option.name, &value](const std::string &text) {
        value = duration_of(text, "option " + quote(name));
    });
}

/** How long a container may have to end by itself that has been asked to, since it has held for too long. */
constexpr std::chrono::seconds hold_grace{30};

/** How long it may have it where others wait: what the host allows, or less where the container says so. */
std::optional<std::chrono::seconds> hold_of(const Request &request, const LeaseOptions &options)
{
    const auto &most = options.max_hold;
    const RequestValue *hold = request.detail("hold");
    if (hold == nullptr)
        return most;
    const std::chrono::seconds asked = duration_of(trimmed(hold->value), hold->origin);
    if (most && asked > *most)
        throw Error(ErrorKind::Denied, "the " + hold->origin + " asks to hold for " + to_text(asked) +
                                           ", and this host (--max-hold) allows " + to_text(*most));
    return asked;
}

std::chrono::seconds wait_of(const Request &request, const LeaseOptions &options)
{
    const std::chrono::seconds most = options.max_wait;
    const RequestValue *wait = request.detail("wait");
    if (wait == nullptr) // Concourse's containers, and CDI's, have no way to say how long
        return request.is_by_host() ? most : std::chrono::seconds(0);
    const std::chrono::seconds asked = duration_of(trimmed(wait->value), wait->origin);
    if (asked > most)
        throw Error(ErrorKind::Denied, "the " + wait->origin + " asks to wait for " + to_text(asked) +
                                           ", and this host (--max-wait) allows " + to_text(most));
    return asked;
}

} // namespace

void add_lease_options(CommandLine &cli, LeaseOptions &options)
{
    cli.add_choice(declared("--min-lease"), {"shared", "exclusive"}, [&](const std::string &name) {
        options.least = name == "exclusive" ? LeaseMode::Exclusive : LeaseMode::Shared;
    });
    add_duration(cli, declared("--max-wait"), options.max_wait);
    cli.add(declared("--idle-after"), [&](const std::string &text) {
        options.preemption.is_allowed = text != "never";
        if (options.preemption.is_allowed)
            options.preemption.idle_after = duration_of(text, "option '--idle-after'");
    });
    add_duration(cli, declared("--begin-within"), options.preemption.begin_within);
    add_duration(cli, declared("--max-hold"), options.max_hold);
    const auto take_quota = [&](const std::string &text) { add_quota(options.quotas, quota_of(text)); };
    cli.add(declared("--quota"), take_quota, true);
    cli.add(declared("--max-sharers"), options.max_sharers);
}

void add_drain_options(CommandLine &cli, LeaseOptions &options)
{
    cli.add(declared("--drain"), [&](const std::string &text) {
        const size_t end = std::min(text.find('='), text.size());
        options.drain = text.substr(0, end);
        options.drain_reason = text.substr(std::min(end + 1, text.size()));
    });
    cli.add(declared("--undrain"), options.undrain);
    add_duration(cli, declared("--for"), options.drain_time);
}

void check(const LeaseOptions &options)
{
    constexpr unsigned most_sharers = 64;
    constexpr size_t max_drain_reason = 200;
    if (options.max_sharers && (*options.max_sharers == 0 || *options.max_sharers > most_sharers))
        throw Error(ErrorKind::Usage,
                    "--max-sharers takes a number from 1 to " + std::to_string(most_sharers));
    if (options.drain && options.undrain)
        throw Error(ErrorKind::Usage, "--drain and --undrain exclude each other");
    if (!options.drain && options.drain_time)
        throw Error(ErrorKind::Usage, "--for needs --drain");
    if (options.drain_reason.size() > max_drain_reason)
        throw Error(ErrorKind::Usage,
                    "the reason of --drain has more than " + std::to_string(max_drain_reason) + " bytes");
    if (options.drain_time == std::chrono::seconds(0))
        throw Error(ErrorKind::Usage, "--for takes a time that is longer than 0s");
}

LeaseRequest lease_request(const std::optional<Config> &config, const Request &asked,
                           const LeaseOptions &options)
{
    LeaseRequest request;
    LeaseMode &mode = request.demand.mode;
    mode = options.least;
    request.is_explicit = mode == LeaseMode::Exclusive;
    if (const RequestValue *lease = asked.detail("lease")) {
        const std::string_view name = trimmed(lease->value);
        if (name != "shared" && name != "exclusive")
            throw Error(ErrorKind::Usage, "the " + lease->origin + " is " + quote(lease->value) +
                                              ", and takes 'shared' or 'exclusive'");
        if (name == "exclusive")
            mode = LeaseMode::Exclusive;
        request.is_explicit = true;
    }
    request.wait = wait_of(asked, options);
    if (const auto hold = hold_of(asked, options); hold && config)
        request.hold = HoldTerms{*hold, hold_grace, stop_signal(*config)};
    request.demand.quotas = quotas_of(config, asked, options);
    if (mode == LeaseMode::Shared)
        request.demand.max_sharers = options.max_sharers;
    request.preemption = options.preemption;
    return request;
}

void refuse_lease(const Request &request)
{
    for (const char *const name : {"lease", "wait", "hold"}) {
        if (const RequestValue *const said = request.detail(name))
            throw Error(ErrorKind::Usage,
                        "the " + said->origin +
                            " is for a lease, and this container sees GPUs without one (--observer)");
    }
}

} // namespace ogh
