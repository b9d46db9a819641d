// SPDX-License-Identifier: Apache-2.0
#include "hook/quota_options.h"

#include <algorithm>

#include "base/error.h"
#include "base/number.h"
#include "base/text.h"
#include "lease/lease_bounds.h"
#include "request/annotations.h"

namespace ogh {

namespace {

/** "NAME=N". @param what of which option, for the message */
Quota quota_of(const std::string &text, const std::string &what)
{
    constexpr unsigned most_devices = 1U << 20U;
    const size_t end = text.rfind('=');
    const auto most =
        end == std::string::npos ? std::nullopt : parse_small_number(text.substr(end + 1), most_devices);
    if (!most || *most == 0 || end == 0)
        throw Error(ErrorKind::Usage, what + "=N with a number from 1 on, not " + quote(text));
    return {text.substr(0, end), *most};
}

/** One more of an option that is given several times. */
void add_quota(Quotas &quotas, Quota quota, const std::string &what)
{
    const auto is_it = [&](const Quota &other) { return other.name == quota.name; };
    if (std::any_of(quotas.begin(), quotas.end(), is_it))
        throw Error(ErrorKind::Usage, what + "=N once each: " + quote(quota.name) + " is twice");
    quotas.push_back(std::move(quota));
}

void refuse_users_annotation(const std::string &name)
{
    if (!is_engines_annotation(name))
        throw Error(ErrorKind::Usage,
                    "--quota-by takes an annotation that an engine writes after the user's, and " +
                        quote(name) +
                        " is none of those in oci-gpu-hooks-leases(7): who chooses the value would "
                        "choose no limit");
}

constexpr const char *quota_takes = "--quota takes NAME";
constexpr const char *quota_by_takes = "--quota-by takes ANNOTATION";

} // namespace

void add_quota_options(CommandLine &cli, QuotaOptions &options)
{
    cli.add_each(
        {"--quota", "NAME=N",
         "At most N devices at once for all that ask hooks with a quota of this name; may be given several "
         "times (default: no limit)"},
        [&](const std::string &text) {
            add_quota(options.quotas, quota_of(text, quota_takes), quota_takes);
        });
    cli.add_each(
        {"--quota-by", "ANNOTATION=N",
         "At most N devices at once for the containers with the same value of an annotation that the "
         "engine writes; may be given several times (default: no limit)"},
        [&](const std::string &text) {
            Quota quota = quota_of(text, quota_by_takes);
            refuse_users_annotation(quota.name);
            add_quota(options.quotas_by, std::move(quota), quota_by_takes);
        });
    cli.add({"--max-sharers", "N", "How many containers may share a device, 1 to 64 (default: no limit)"},
            options.max_sharers);
}

void check(const QuotaOptions &options)
{
    constexpr unsigned most_sharers = 64;
    if (options.max_sharers && (*options.max_sharers == 0 || *options.max_sharers > most_sharers))
        throw Error(ErrorKind::Usage,
                    "--max-sharers takes a number from 1 to " + std::to_string(most_sharers));
}

Quotas quotas_of(const std::optional<Config> &config, const KeyLimits &limits, const QuotaOptions &options)
{
    Quotas quotas;
    for (const Quota &quota : options.quotas)
        quotas.push_back({"policy:" + quota.name, quota.most});
    if (limits.quota)
        quotas.push_back({"key:" + limits.quota->name, limits.quota->most});
    for (const Quota &quota : options.quotas_by) {
        if (config)
            quotas.push_back({quota.name + "=" + engines_value(*config, quota.name), quota.most});
    }
    for (const Quota &quota : quotas)
        check_quota_name(quota.name);
    std::sort(quotas.begin(), quotas.end(), [](const Quota &a, const Quota &b) { return a.name < b.name; });
    return quotas;
}

} // namespace ogh
