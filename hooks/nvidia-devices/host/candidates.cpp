// SPDX-License-Identifier: Apache-2.0
#include "nvidia-devices/host/candidates.h"

#include <algorithm>
#include <variant>

#include "base/text.h"
#include "request/availability.h"

namespace ogh::nvidia_devices {

namespace {

std::string numbers_of(const MigInstance &instance, const std::string &separator = "/")
{
    return separator + std::to_string(instance.gpu_instance) + separator +
           std::to_string(instance.compute_instance);
}

std::string instance_name(const Gpu &gpu, const MigInstance &instance)
{
    const std::string &uuid = gpu.information.uuid;
    return (uuid.empty() ? to_text(gpu.address) : "MIG-" + uuid) + numbers_of(instance);
}

/** "GPU:GI:CI" by each name of its GPU: CDI allows no slash. */
void add_names_with_colons(const Candidate &whole, const MigInstance &instance,
                           std::vector<std::string> &names)
{
    const std::string numbers = numbers_of(instance, ":");
    names.push_back(to_text(whole.address) + numbers);
    if (whole.index)
        names.push_back(std::to_string(*whole.index) + numbers);
    for (const std::string &name : whole.names)
        names.push_back(name + numbers);
}

Candidate candidate_of(const Inventory &inventory, const InstancePlace &place, const Candidate &whole)
{
    const Gpu &gpu = inventory.gpus[place.gpu];
    const MigInstance &instance = gpu.instances[place.instance];
    Candidate candidate;
    candidate.address = gpu.address;
    candidate.whole = place.gpu;
    candidate.lease_key = lease_key(gpu, instance);
    candidate.description = instance_name(gpu, instance);
    candidate.names = {candidate.description, to_text(gpu.address) + numbers_of(instance)};
    candidate.names.insert(candidate.names.end(), instance.names.begin(), instance.names.end());
    add_names_with_colons(whole, instance, candidate.names);
    if (!instance.group.empty())
        candidate.groups = {instance.group};
    candidate.problem = whole.problem.empty() ? instance.problem : whole.problem;
    candidate.problem_kind = whole.problem.empty() ? ErrorKind::BrokenHost : whole.problem_kind;
    candidate.closed = whole.closed;
    if (whole.closed.empty() && instance.compute_node)
        candidate.closed =
            obstacle_text(instance.access, inventory.host_root + cap_node_path(*instance.compute_node));
    return candidate;
}

/** "0:1" */
bool is_pair(std::string_view name)
{
    const size_t colon = name.find(':');
    const auto is_number = [](std::string_view text) {
        return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
    };
    return colon != std::string_view::npos && is_number(name.substr(0, colon)) &&
           is_number(name.substr(colon + 1));
}

bool starts_with_word(std::string_view name, std::string_view word)
{
    return has_name({std::string(word)}, std::string(name.substr(0, word.size())));
}

bool is_of_library(const std::string &name)
{
    return is_pair(name) || (starts_with_word(name, "MIG-") && !starts_with_word(name, "MIG-GPU-"));
}

void add_instances(const Inventory &inventory, std::vector<Candidate> &list)
{
    for (size_t gpu = 0; gpu < inventory.gpus.size(); ++gpu) {
        if (inventory.gpus[gpu].is_divided)
            list[gpu].only_by_name = "it is divided (MIG), and its instances are taken instead";
    }
    for (const InstancePlace &place : instance_places(inventory))
        list.push_back(candidate_of(inventory, place, list[place.gpu]));
}

} // namespace

GpuSelection selection_of(const std::vector<size_t> &chosen, const Inventory &inventory)
{
    GpuSelection selection;
    const size_t gpus = inventory.gpus.size();
    const auto places = instance_places(inventory);
    for (const size_t place : chosen)
        selection.gpus.push_back(place < gpus ? place : places.at(place - gpus).gpu);
    std::sort(selection.gpus.begin(), selection.gpus.end());
    selection.gpus.erase(std::unique(selection.gpus.begin(), selection.gpus.end()), selection.gpus.end());
    const auto is_chosen = [&](size_t place) {
        return std::binary_search(chosen.begin(), chosen.end(), place);
    };
    for (size_t i = 0; i < places.size(); ++i) {
        const MigInstance &instance = inventory.gpus[places[i].gpu].instances[places[i].instance];
        if (is_chosen(gpus + i) || (is_chosen(places[i].gpu) && instance.problem.empty()))
            selection.instances.push_back(places[i]);
    }
    return selection;
}

std::optional<std::string> find_library_name(const Selectors &selectors, const SelectionPolicy &policy)
{
    if (selectors.none)
        return std::nullopt;
    if (is_of_library(selectors.any_of))
        return selectors.any_of;
    const Selectors nothing;
    for (const Selectors &each :
         {selectors, policy.allow.value_or(nothing), policy.allow_too.value_or(nothing)}) {
        for (const Selector &selector : each.named) {
            const auto *const name = std::get_if<DeviceName>(&selector.what);
            if (name != nullptr && is_of_library(name->text))
                return name->text;
        }
    }
    return std::nullopt;
}

std::string without_library(const Inventory &inventory)
{
    std::vector<std::string> instances;
    for (const auto &[gpu, place] : instance_places(inventory))
        instances.push_back(instance_name(inventory.gpus[gpu], inventory.gpus[gpu].instances[place]));
    return instances.empty() ? "this host has no instances" : "ask for them as " + quote_list(instances);
}

std::vector<Candidate> candidates(const Inventory &inventory)
{
    std::vector<Candidate> list;
    unsigned next = 0;
    for (const Gpu &gpu : inventory.gpus) {
        Candidate candidate;
        if (!gpu.information.is_excluded)
            candidate.index = next++;
        candidate.address = gpu.address;
        candidate.lease_key = lease_key(gpu);
        candidate.description = to_text(gpu.address);
        if (!gpu.information.uuid.empty()) {
            candidate.names.push_back(gpu.information.uuid);
            candidate.description = gpu.information.uuid;
        }
        candidate.problem = gpu.problem;
        candidate.problem_kind = gpu.problem_kind;
        candidate.closed = obstacle_text(gpu.access, inventory.host_root + node_path(gpu));
        list.push_back(std::move(candidate));
    }
    add_instances(inventory, list);
    return list;
}

std::vector<InstancePlace> meant_instances(const Selectors &selectors, const Inventory &inventory)
{
    auto places = instance_places(inventory);
    if (places.empty() || selectors.all || selectors.any != 0 || selectors.allowed)
        return places;
    const auto list = candidates(inventory);
    std::vector<InstancePlace> meant;
    for (size_t i = 0; i < places.size(); ++i) {
        if (is_named(selectors, list[places[i].gpu]) || is_named(selectors, list[inventory.gpus.size() + i]))
            meant.push_back(places[i]);
    }
    return meant;
}

HostListing list_gpus(const Inventory &inventory, const std::vector<Candidate> &gpus,
                      const SelectionPolicy &policy)
{
    const Availability availability(gpus, policy);
    HostListing list{{"gpus", {"index", "address", "uuid", "model", "node", "state"}},
                     {{"driver", known(inventory.version.value_or(""))}}};
    list.none = "the driver knows no GPU of this host";
    for (size_t i = 0; i < inventory.gpus.size(); ++i) {
        const GpuInformation &information = inventory.gpus[i].information;
        const auto &index = gpus[i].index;
        const auto &number = information.minor;
        list.rows.push_back({index ? HostListing::Cell(std::uint64_t{*index}) : nullptr,
                             to_text(gpus[i].address), known(information.uuid), known(information.model),
                             known(number ? "/dev/nvidia" + std::to_string(*number) : ""),
                             availability.state(i)});
    }
    size_t i = inventory.gpus.size();
    for (const auto &[gpu, place] : instance_places(inventory)) {
        const MigInstance &instance = inventory.gpus[gpu].instances[place];
        list.rows.push_back({nullptr, to_text(gpus[i].address), gpus[i].description,
                             known(inventory.gpus[gpu].information.model),
                             known(instance.compute_node ? cap_node_path(*instance.compute_node) : ""),
                             availability.state(i)});
        ++i;
    }
    return list;
}

} // namespace ogh::nvidia_devices
