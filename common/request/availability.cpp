// SPDX-License-Identifier: Apache-2.0
#include "request/availability.h"

#include <algorithm>

#include "base/contains.h"
#include "base/letters.h"
#include "base/text.h"

namespace ogh {

namespace {

bool is_allowed_by(const std::optional<Selectors> &allow, const Candidate &candidate)
{
    return !allow || allow->all || is_named(*allow, candidate);
}

/** Itself, or the device of which it is a part. */
bool is_allowed_in(const std::vector<Candidate> &candidates, const std::optional<Selectors> &allow,
                   const Candidate &candidate)
{
    return is_allowed_by(allow, candidate) ||
           (candidate.whole && is_allowed_by(allow, candidates[*candidate.whole]));
}

constexpr const char *hosts_allow = "the host's policy (--allow)";
constexpr const char *keys_allow = "the line of the key in --key-file (--allow)";
constexpr const char *hosts_most = "the host's policy (--max-devices)";
constexpr const char *keys_most = "the line of the key in --key-file (--max-devices)";

std::string no_gpu(const std::string &text, const std::string &within)
{
    return "no GPU " + quote(text) + (within.empty() ? "" : " of " + quote(within)) + ": ";
}

} // namespace

bool has_name(const std::vector<std::string> &names, const std::string &wanted)
{
    return std::any_of(names.begin(), names.end(),
                       [&](const std::string &name) { return is_same_word(name, wanted); });
}

bool means(const Selector &selector, const Candidate &candidate, bool with_groups)
{
    if (const auto *const range = std::get_if<IndexRange>(&selector.what))
        return candidate.index && *candidate.index >= range->first && *candidate.index <= range->last;
    if (const auto *const address = std::get_if<PciAddress>(&selector.what))
        return !candidate.whole && candidate.address == *address;
    const std::string &name = std::get<DeviceName>(selector.what).text;
    return has_name(candidate.names, name) || (with_groups && has_name(candidate.groups, name));
}

bool is_named(const Selectors &selectors, const Candidate &candidate)
{
    const auto &named = selectors.named;
    return std::any_of(named.begin(), named.end(),
                       [&](const Selector &selector) { return means(selector, candidate, true); });
}

const Candidate *find_by_lease_key(const std::vector<Candidate> &candidates, const std::string &key)
{
    const auto found = std::find_if(candidates.begin(), candidates.end(),
                                    [&](const Candidate &each) { return each.lease_key == key; });
    return found == candidates.end() ? nullptr : &*found;
}

void mark_dead(Candidate &candidate)
{
    if (!candidate.problem.empty())
        return;
    candidate.looks_dead = true;
    candidate.problem = "looks dead: nothing answers at " + to_text(candidate.address) + " on the PCI bus";
    candidate.problem_kind = ErrorKind::NotAvailable;
}

std::string label(const Candidate &candidate)
{
    if (!candidate.index)
        return candidate.description;
    const std::string index = std::to_string(*candidate.index);
    return candidate.description.empty() ? index : index + " (" + candidate.description + ")";
}

std::string count_text(size_t count)
{
    return std::to_string(count) + (count == 1 ? " GPU" : " GPUs");
}

Availability::Availability(const std::vector<Candidate> &candidates, const SelectionPolicy &policy)
    : candidates_(candidates), policy_(policy)
{
    for (const Candidate &candidate : candidates)
        allowed_.push_back(is_allowed_in(candidates, policy.allow, candidate) &&
                           is_allowed_in(candidates, policy.allow_too, candidate));
}

size_t Availability::remaining(size_t used) const
{
    const size_t limit = policy_.max_devices ? *policy_.max_devices : candidates_.size();
    return limit > used ? limit - used : 0;
}

bool Availability::is_cut_by_policy() const
{
    return contains(allowed_, false);
}

/** By nothing but the line of the key. */
bool Availability::is_cut_by_key() const
{
    const auto is_hosts = [&](const Candidate &candidate) {
        return is_allowed_in(candidates_, policy_.allow, candidate);
    };
    return is_cut_by_policy() && std::all_of(candidates_.begin(), candidates_.end(), is_hosts);
}

std::string Availability::text() const
{
    std::string offered;
    std::string others;
    for (size_t i = 0; i < candidates_.size(); ++i) {
        if (!is_allowed(i))
            continue;
        std::string &list = is_usable(i) ? offered : others;
        list += (list.empty() ? "" : ", ") + label(candidates_[i]);
        if (!is_usable(i))
            list += ", " + candidates_[i].problem;
    }
    return (is_cut_by_key()      ? "the key allows "
            : is_cut_by_policy() ? "this host's policy allows "
                                 : "this host has ") +
           (offered.empty() ? "none" : offered) + (others.empty() ? "" : "; left out: " + others);
}

std::string Availability::state(size_t i) const
{
    return is_allowed(i) && remaining(0) != 0 ? at(i).problem : "not allowed";
}

Error Availability::missing(const std::string &text) const
{
    if (is_cut_by_policy() && out_of_order() == 0)
        return not_allowed(text);
    const bool has_common = !places([&](size_t i) { return is_common(i); }).empty();
    const bool is_by_name = !has_common && has_some_by_name_alone();
    return {ErrorKind::NotAvailable, no_gpu(text, "") +
                                         (is_by_name ? "'any' and 'all' give none, only a name does; " : "") +
                                         this->text()};
}

Error Availability::none_open(const std::string &text) const
{
    std::string closed;
    for (size_t i = 0; i < candidates_.size(); ++i) {
        if (!is_usable(i))
            continue;
        if (candidates_[i].closed.empty())
            return missing(text);
        closed += (closed.empty() ? "" : "; ") + label(candidates_[i]) + ": " + candidates_[i].closed;
    }
    if (closed.empty())
        return unknown(text);
    return {ErrorKind::NotAvailable, no_gpu(text, "") + "this process may open none: " + closed};
}

Error Availability::unknown(const std::string &text, const std::string &within) const
{
    return {ErrorKind::NotAvailable, no_gpu(text, within) + this->text()};
}

Error Availability::not_allowed(const std::string &text, const std::string &within) const
{
    return {ErrorKind::Denied, no_gpu(text, within) + (is_cut_by_key() ? keys_allow : hosts_allow) +
                                   " does not allow it; " + this->text()};
}

Error Availability::unusable(size_t i, const std::string &text, const std::string &within) const
{
    const Candidate &candidate = candidates_[i];
    if (!candidate.looks_dead)
        return {candidate.problem_kind, no_gpu(text, within) + candidate.problem};
    return {candidate.problem_kind, "the GPU " + label(candidate) + " that is asked for " +
                                        candidate.problem + "; 'dmesg' may say since when and why"};
}

Error Availability::too_few(size_t wanted, size_t there, const std::string &whose) const
{
    const bool is_cut = is_cut_by_policy() && there + out_of_order() < wanted;
    const bool is_of_all = !whose.starts_with(" of ") && has_some_by_name_alone();
    return {is_cut ? ErrorKind::Denied : ErrorKind::NotAvailable,
            count_text(wanted) + (wanted == 1 ? " is" : " are") + " asked for" + whose + ", and " +
                (is_cut       ? std::string(is_cut_by_key() ? keys_allow : hosts_allow) + " leaves "
                 : there == 1 ? "there is "
                              : "there are ") +
                std::to_string(there) + (is_of_all ? " that 'any' and 'all' give: " : ": ") + text()};
}

size_t Availability::out_of_order() const
{
    return places([&](size_t i) { return is_allowed(i) && !is_usable(i); }).size();
}

bool Availability::has_some_by_name_alone() const
{
    const auto is_one = [&](size_t i) {
        return is_allowed(i) && is_usable(i) && !candidates_[i].only_by_name.empty();
    };
    return !places(is_one).empty();
}

Error Availability::too_many(size_t wanted) const
{
    return {ErrorKind::Denied, count_text(wanted) + " asked for, and " +
                                   (policy_.is_most_by_key ? keys_most : hosts_most) + " allows " +
                                   std::to_string(policy_.max_devices.value_or(0)) + "; " + text()};
}

} // namespace ogh
