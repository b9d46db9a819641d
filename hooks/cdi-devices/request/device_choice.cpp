// SPDX-License-Identifier: Apache-2.0
#include "cdi-devices/request/device_choice.h"

#include <algorithm>
#include <utility>

#include "base/contains.h"
#include "base/error.h"
#include "base/text.h"
#include "cdi/names.h"
#include "request/selectors.h"

namespace ogh::cdi_devices {

namespace {

Error wrong(const std::string &origin, const std::string &word, const std::string &problem, const char *form)
{
    return {ErrorKind::Usage, "the " + origin + " has " + quote(word) + ": " + problem +
                                  "; it takes names like 'vendor.com/class=name', separated by commas, " +
                                  form};
}

constexpr std::string_view engine_prefix = "cdi.k8s.io/";

void add_names(const std::string &key, std::string_view value, DeviceRequest &request)
{
    for (size_t start = 0; start <= value.size();) {
        const size_t end = std::min(value.find(',', start), value.size());
        const std::string word(value.substr(start, end - start));
        cdi::QualifiedName name = cdi::split_name(word);
        std::string problem = cdi::name_problem(name);
        if (problem.empty() && !name.has_device)
            problem = "it names no device";
        if (!problem.empty())
            throw wrong("annotation " + quote(key), word, problem, "without blanks");
        add_once(request.devices, {std::move(name.kind), std::move(name.device)});
        start = end + 1;
    }
}

/** What may be asked for here, whole, so that it can be pasted back. */
std::string offer(const DeviceIndex &index, const Policy &policy, const std::string &kind)
{
    std::vector<std::string> names;
    for (const auto &[name, found] : index.devices())
        if ((kind.empty() || name.kind == kind) && policy.allows(name))
            names.push_back(name.full());
    if (!names.empty())
        return "this host has " + quote_list(names);
    return kind.empty() ? "this host's CDI specifications have none" : offer(index, policy, "");
}

std::string why_missing(const DeviceName &name, const DeviceIndex &index)
{
    const auto conflict = index.conflicts().find(name);
    return conflict == index.conflicts().end()
               ? quote(name.full())
               : quote(name.full()) + " (it is in both " + conflict->second + ")";
}

void refuse_missing(const DeviceRequest &request, const DeviceIndex &index, const Policy &policy)
{
    std::string missing;
    std::string kind;
    for (const DeviceName &name : request.devices) {
        if (index.find(name))
            continue;
        kind = missing.empty() || kind == name.kind ? name.kind : "";
        missing += (missing.empty() ? "" : ", ") + why_missing(name, index);
    }
    if (!missing.empty())
        throw Error(ErrorKind::NotAvailable, "no device " + missing + ": " + offer(index, policy, kind));
}

template<typename Item> void append(std::vector<Item> &list, const std::vector<Item> &more)
{
    list.insert(list.end(), more.begin(), more.end());
}

void add(cdi::ContainerEdits &all, const cdi::ContainerEdits &edits)
{
    append(all.env, edits.env);
    append(all.nodes, edits.nodes);
    append(all.mounts, edits.mounts);
    append(all.hooks, edits.hooks);
    append(all.groups, edits.groups);
    append(all.net_devices, edits.net_devices);
    all.intel_rdt = all.intel_rdt || edits.intel_rdt;
}

/** Keeps the last of those with the same path, in its place. */
template<typename Item> void keep_last(std::vector<Item> &list, std::string Item::*path)
{
    std::set<std::string_view> seen;
    std::vector<bool> is_last(list.size());
    for (size_t i = list.size(); i-- > 0;)
        is_last[i] = seen.insert(list[i].*path).second;
    auto kept = is_last.begin();
    std::erase_if(list, [&](const Item & /*item*/) { return !*kept++; });
}

/** How many names its path has. */
size_t depth(const cdi::Mount &mount)
{
    const std::string &path = mount.container_path;
    size_t names = 0;
    for (size_t i = 1; i < path.size(); ++i)
        names += path[i] != '/' && path[i - 1] == '/' ? 1U : 0U;
    return names;
}

} // namespace

DeviceRequest parse_device_request(const RequestValue &asked)
{
    DeviceRequest request;
    if (trimmed(asked.value) == "none")
        return request;
    for (const std::string &word : split_list(asked.value)) {
        cdi::QualifiedName name = cdi::split_name(word);
        name.has_device = name.has_device && name.device != "*"; // which is all of them, as no name is
        if (const std::string problem = cdi::name_problem(name); !problem.empty())
            throw wrong(asked.origin, word, problem, "or 'none'");
        if (name.has_device)
            add_once(request.devices, {std::move(name.kind), std::move(name.device)});
        else
            add_once(request.kinds, std::move(name.kind));
    }
    return request;
}

bool asks_for(const DeviceRequest &request, std::string_view kind, std::string_view name)
{
    return std::any_of(request.devices.begin(), request.devices.end(),
                       [&](const DeviceName &each) { return each.kind == kind && each.name == name; });
}

DeviceRequest parse_engine_annotations(const Config &config)
{
    DeviceRequest request;
    std::string all;
    for (auto entry = config.annotations.lower_bound(engine_prefix);
         entry != config.annotations.end() && entry->first.starts_with(engine_prefix); ++entry) {
        all += entry->second;
        all = request_value(std::move(all), engine_origin, "are").value;
        add_names(entry->first, entry->second, request);
    }
    return request;
}

DeviceIndex::DeviceIndex(const std::vector<cdi::SpecFile> &files)
{
    for (const cdi::SpecFile &file : files)
        for (const cdi::Device &device : file.spec.devices) {
            DeviceName name{file.spec.kind, device.name};
            const size_t before = devices_.size();
            // Who writes a file has them in order.
            const auto known = devices_.try_emplace(devices_.end(), name, FoundDevice{&file, &device});
            if (devices_.size() != before)
                continue;
            if (known->second.file->directory == file.directory)
                conflicts_.try_emplace(std::move(name),
                                       quote(known->second.file->path) + " and " + quote(file.path));
            else
                known->second = {&file, &device}; // the later directory wins
        }
    for (const auto &[name, files_of_it] : conflicts_)
        devices_.erase(name);
}

std::optional<FoundDevice> DeviceIndex::find(const DeviceName &name) const
{
    const auto known = devices_.find(name);
    return known == devices_.end() ? std::nullopt : std::optional(known->second);
}

void Policy::allow(const std::optional<std::string> &list)
{
    if (!list)
        return;
    std::set<std::string> names;
    for (const std::string &word : split_list(*list)) {
        if (const std::string problem = cdi::name_problem(cdi::split_name(word)); !problem.empty())
            throw Error(ErrorKind::Usage, "--allow has " + quote(word) + ": " + problem +
                                              "; it takes 'vendor.com/class' and 'vendor.com/class=name'");
        names.insert(word);
    }
    allowed_.push_back(std::move(names));
}

void Policy::at_most(std::optional<unsigned> devices, const char *whose)
{
    if (!devices || (most_ && *most_ <= *devices))
        return;
    most_ = devices;
    whose_most_ = whose;
}

void Policy::check_count(size_t devices) const
{
    if (most_ && devices > *most_)
        throw Error(ErrorKind::Denied, std::string(whose_most_) + " (--max-devices) allows a container " +
                                           std::to_string(*most_) + " devices, and it asks for " +
                                           std::to_string(devices));
}

bool Policy::allows(const DeviceName &name) const
{
    return std::all_of(allowed_.begin(), allowed_.end(), [&](const std::set<std::string> &names) {
        return names.contains(name.kind) || names.contains(name.full());
    });
}

std::vector<FoundDevice> choose(const DeviceRequest &request, const DeviceIndex &index, const Policy &policy)
{
    for (const DeviceName &name : request.devices)
        if (!policy.allows(name))
            throw Error(ErrorKind::Denied, "the host's policy (--allow) does not allow " +
                                               quote(name.full()) + "; " + offer(index, policy, name.kind));
    if (!request.kinds.empty())
        throw Error(ErrorKind::Usage, "devices are asked for by name, and not all of " +
                                          quote(request.kinds.front()) + ": " +
                                          offer(index, policy, request.kinds.front()));
    refuse_missing(request, index, policy);
    std::vector<FoundDevice> chosen;
    for (const DeviceName &name : request.devices)
        chosen.push_back(index.find(name).value());
    return chosen;
}

cdi::ContainerEdits combine(const std::vector<FoundDevice> &devices)
{
    cdi::ContainerEdits all;
    std::set<const cdi::SpecFile *> seen;
    for (const auto &[file, device] : devices) {
        if (seen.insert(file).second)
            add(all, file->spec.edits);
        add(all, device->edits);
    }
    keep_last(all.nodes, &cdi::DeviceNode::path);
    keep_last(all.mounts, &cdi::Mount::container_path);
    const auto is_higher = [](const cdi::Mount &one, const cdi::Mount &other) {
        return depth(one) < depth(other);
    };
    // Most specifications have them in this order.
    if (!std::is_sorted(all.mounts.begin(), all.mounts.end(), is_higher))
        std::stable_sort(all.mounts.begin(), all.mounts.end(), is_higher);
    return all;
}

} // namespace ogh::cdi_devices
