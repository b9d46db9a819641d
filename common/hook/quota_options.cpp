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

/** Those of an option that is given several times. */
Quotas parse_quotas(const std::vector<std::string> &texts, const std::string &what)
{
    Quotas quotas;
    for (const std::string &text : texts) {
        quotas.push_back(quota_of(text, what));
        const auto is_it = [&](const Quota &other) { return other.name == quotas.back().name; };
        if (std::count_if(quotas.begin(), quotas.end(), is_it) > 1)
            throw Error(ErrorKind::Usage, what + "=N once each: " + quote(quotas.back().name) + " is twice");
    }
    return quotas;
}

constexpr const char *quota_takes = "--quota takes NAME";
constexpr const char *quota_by_takes = "--quota-by takes ANNOTATION";

} // namespace

void add_quota_options(CommandLine &cli, QuotaOptions &options)
{
    cli.add(
        {"--quota", "NAME=N",
         "At most N devices at once for all that ask hooks with a quota of this name; may be given several "
         "times (default: no limit)"},
        options.quotas);
    cli.add({"--quota-by", "ANNOTATION=N",
             "At most N devices at once for the containers with the same value of an annotation that the "
             "engine writes; may be given several times (default: no limit)"},
            options.quotas_by);
    cli.add({"--max-sharers", "N", "How many containers may share a device, 1 to 64 (default: no limit)"},
            options.max_sharers);
}

void check(const QuotaOptions &options)
{
    constexpr unsigned most_sharers = 64;
    parse_quotas(options.quotas, quota_takes);
    for (const Quota &quota : parse_quotas(options.quotas_by, quota_by_takes)) {
        if (!is_engines_annotation(quota.name))
            throw Error(ErrorKind::Usage,
                        "--quota-by takes an annotation that an engine writes after the user's, and " +
                            quote(quota.name) +
                            " is none of those in oci-gpu-hooks-leases(7): who chooses the value would "
                            "choose no limit");
    }
    if (options.max_sharers && (*options.max_sharers == 0 || *options.max_sharers > most_sharers))
        throw Error(ErrorKind::Usage,
                    "--max-sharers takes a number from 1 to " + std::to_string(most_sharers));
}

Quotas quotas_of(const std::optional<Config> &config, const KeyLimits &limits, const QuotaOptions &options)
{
    Quotas quotas;
    for (const Quota &quota : parse_quotas(options.quotas, quota_takes))
        quotas.push_back({"policy:" + quota.name, quota.most});
    if (limits.quota)
        quotas.push_back({"key:" + limits.quota->name, limits.quota->most});
    for (const Quota &quota : parse_quotas(options.quotas_by, quota_by_takes)) {
        if (config)
            quotas.push_back({quota.name + "=" + engines_value(*config, quota.name), quota.most});
    }
    for (const Quota &quota : quotas)
        check_quota_name(quota.name);
    std::sort(quotas.begin(), quotas.end(), [](const Quota &a, const Quota &b) { return a.name < b.name; });
    return quotas;
}

} // namespace ogh
