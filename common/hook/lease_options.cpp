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

constexpr size_t max_drain_reason = 200;

/** What the host allows, or less where the container says so. */
std::optional<std::chrono::seconds> hold_of(const Request &request, const LeaseOptions &options)
{
    std::optional<std::chrono::seconds> most;
    if (options.max_hold)
        most = duration_of(*options.max_hold, "option '--max-hold'");
    const RequestValue *hold = request.detail("hold");
    if (hold == nullptr)
        return most;
    const std::chrono::seconds asked = duration_of(std::string(trimmed(hold->value)), hold->origin);
    if (most && asked > *most)
        throw Error(ErrorKind::Denied, "the " + hold->origin + " asks to hold for " + to_text(asked) +
                                           ", and this host (--max-hold) allows " + to_text(*most));
    return asked;
}

} // namespace

void add_quota_options(CommandLine &cli, QuotaOptions &options)
{
    cli.add_each(declared("--quota"),
                 [&](const std::string &text) { add_quota(options.quotas, quota_of(text)); });
    cli.add(declared("--max-sharers"), options.max_sharers);
}

void check(const QuotaOptions &options)
{
    constexpr unsigned most_sharers = 64;
    if (options.max_sharers && (*options.max_sharers == 0 || *options.max_sharers > most_sharers))
        throw Error(ErrorKind::Usage,
                    "--max-sharers takes a number from 1 to " + std::to_string(most_sharers));
}

Quotas quotas_of(const std::optional<Config> &config, const Request &request, const QuotaOptions &options)
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

std::chrono::seconds duration_of(const std::string &text, const std::string &origin)
{
    const auto duration = parse_duration(text);
    if (!duration)
        throw Error(ErrorKind::Usage, "the " + origin + " is " + quote(text) +
                                          ", which is no duration such as '90s', '5m' or '2h'");
    return *duration;
}

void add_lease_options(CommandLine &cli, LeaseOptions &options)
{
    cli.add_choice(declared("--min-lease"), {"shared", "exclusive"}, [&](const std::string &name) {
        options.least = name == "exclusive" ? LeaseMode::Exclusive : LeaseMode::Shared;
    });
    cli.add(declared("--max-wait"), options.max_wait);
    cli.add(declared("--idle-init"), options.idle_inits);
    cli.add(declared("--idle-after"), options.idle_after);
    cli.add(declared("--begin-within"), options.begin_within);
    cli.add(declared("--max-hold"), options.max_hold);
    add_quota_options(cli, options.quotas);
}

void add_drain_options(CommandLine &cli, LeaseOptions &options)
{
    cli.add(declared("--drain"), options.drain);
    cli.add(declared("--undrain"), options.undrain);
    cli.add(declared("--for"), options.drain_time);
}

void check(const LeaseOptions &options)
{
    duration_of(options.max_wait, "option '--max-wait'");
    preemption_policy(options);
    if (options.max_hold)
        duration_of(*options.max_hold, "option '--max-hold'");
    for (const std::string &path : options.idle_inits) {
        if (!path.starts_with('/'))
            throw Error(ErrorKind::Usage, "--idle-init needs an absolute path, not " + quote(path));
    }
    check(options.quotas);
    if (options.drain && options.undrain)
        throw Error(ErrorKind::Usage, "--drain and --undrain exclude each other");
    if (!options.drain && options.drain_time)
        throw Error(ErrorKind::Usage, "--for needs --drain");
    if (options.drain && drain_words(*options.drain).reason.size() > max_drain_reason)
        throw Error(ErrorKind::Usage,
                    "the reason of --drain has more than " + std::to_string(max_drain_reason) + " bytes");
    if (options.drain_time && duration_of(*options.drain_time, "option '--for'").count() == 0)
        throw Error(ErrorKind::Usage, "--for takes a time that is longer than 0s");
}

DrainWords drain_words(const std::string &text)
{
    const size_t end = std::min(text.find('='), text.size());
    return {text.substr(0, end), text.substr(std::min(end + 1, text.size()))};
}

PreemptionPolicy preemption_policy(const LeaseOptions &options)
{
    PreemptionPolicy policy;
    policy.is_allowed = options.idle_after != "never";
    if (!options.idle_inits.empty())
        policy.idle_inits = options.idle_inits;
    if (policy.is_allowed)
        policy.idle_after = duration_of(options.idle_after, "option '--idle-after'");
    policy.begin_within = duration_of(options.begin_within, "option '--begin-within'");
    return policy;
}

LeaseTerms lease_terms(const Request &request, const LeaseOptions &options)
{
    LeaseTerms terms{options.least, std::chrono::seconds(0), options.least == LeaseMode::Exclusive};
    const std::chrono::seconds most = duration_of(options.max_wait, "option '--max-wait'");
    if (const RequestValue *lease = request.detail("lease")) {
        const std::string_view name = trimmed(lease->value);
        if (name != "shared" && name != "exclusive")
            throw Error(ErrorKind::Usage, "the " + lease->origin + " is " + quote(lease->value) +
                                              ", and takes 'shared' or 'exclusive'");
        if (name == "exclusive")
            terms.mode = LeaseMode::Exclusive;
        terms.is_explicit = true;
    }
    terms.hold = hold_of(request, options);
    const RequestValue *wait = request.detail("wait");
    if (wait == nullptr) {
        // Concourse's containers, and CDI's, have no way to say how long.
        terms.wait = request.is_by_host() ? most : terms.wait;
        return terms;
    }
    terms.wait = duration_of(std::string(trimmed(wait->value)), wait->origin);
    if (terms.wait > most)
        throw Error(ErrorKind::Denied, "the " + wait->origin + " asks to wait for " + to_text(terms.wait) +
                                           ", and this host (--max-wait) allows " + to_text(most));
    return terms;
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
