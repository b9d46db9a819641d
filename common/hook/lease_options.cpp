// SPDX-License-Identifier: Apache-2.0
#include "hook/lease_options.h"

#include <string_view>

#include "base/duration.h"
#include "base/error.h"
#include "base/text.h"

namespace ogh {

namespace {

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
    cli.add_choice(
        {"--min-lease", "NAME", "What a container has to accept: shared or exclusive (default: shared)"},
        {"shared", "exclusive"}, [&](const std::string &name) {
            options.least = name == "exclusive" ? LeaseMode::Exclusive : LeaseMode::Shared;
        });
    cli.add({"--max-wait", "TIME", "How long a container may wait for a GPU (default: 0s)"},
            options.max_wait);
    cli.add({"--idle-init", "PATH",
             "A first program that only waits; may be given several times (default: /tmp/gdn-init)"},
            options.idle_inits);
    cli.add(
        {"--idle-after", "TIME",
         "When its GPUs may be taken away: so long after its last process has ended, or never (default: 1s)"},
        options.idle_after);
    cli.add(
        {"--begin-within", "TIME", "The same where nothing has run in it, since it got them (default: 2m)"},
        options.begin_within);
    cli.add({"--max-hold", "TIME",
             "How long a container may have a GPU while another one waits for it (default: no limit)"},
            options.max_hold);
    cli.add({"--hold-grace", "TIME",
             "How long it has to end then, after its stop signal, before it is killed (default: 30s)"},
            options.hold_grace);
    add_quota_options(cli, options.quotas);
}

void add_drain_options(CommandLine &cli, LeaseOptions &options)
{
    cli.add({"--drain", "GPU",
             "Give this GPU to nobody until --undrain or the next boot, and do nothing else (default: none)"},
            options.drain);
    cli.add({"--undrain", "GPU", "Give it again, and do nothing else (default: none)"}, options.undrain);
    cli.add({"--reason", "TEXT", "Of --drain: why, for those who look and wait (default: none)"},
            options.drain_reason);
    cli.add({"--for", "TIME", "Of --drain: ends by itself after that time (default: it does not)"},
            options.drain_time);
}

void check(const LeaseOptions &options)
{
    duration_of(options.max_wait, "option '--max-wait'");
    preemption_policy(options);
    hold_grace(options);
    if (options.max_hold)
        duration_of(*options.max_hold, "option '--max-hold'");
    for (const std::string &path : options.idle_inits) {
        if (!path.starts_with('/'))
            throw Error(ErrorKind::Usage, "--idle-init needs an absolute path, not " + quote(path));
    }
    check(options.quotas);
    if (options.drain && options.undrain)
        throw Error(ErrorKind::Usage, "--drain and --undrain exclude each other");
    if (!options.drain && (options.drain_time || !options.drain_reason.empty()))
        throw Error(ErrorKind::Usage, "--reason and --for need --drain");
    if (options.drain_reason.size() > max_drain_reason)
        throw Error(ErrorKind::Usage,
                    "--reason takes at most " + std::to_string(max_drain_reason) + " bytes");
    if (options.drain_time && duration_of(*options.drain_time, "option '--for'").count() == 0)
        throw Error(ErrorKind::Usage, "--for takes a time that is longer than 0s");
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

std::chrono::seconds hold_grace(const LeaseOptions &options)
{
    return duration_of(options.hold_grace, "option '--hold-grace'");
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
