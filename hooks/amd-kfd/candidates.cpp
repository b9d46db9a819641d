// SPDX-License-Identifier: Apache-2.0
#include "amd-kfd/candidates.h"

#include <algorithm>
#include <map>

#include "amd-kfd/kfd_topology.h"
#include "base/letters.h"
#include "base/number.h"
#include "lease/state/lease_state.h"
#include "request/availability.h"

namespace ogh::amd_kfd {

namespace {

constexpr std::string_view uuid_prefix = "GPU-";

using Names = std::vector<std::string>;

/** 16 digits in capitals. */
std::string in_capitals(std::uint64_t number)
{
    std::string text = hexadecimal(number, 16);
    std::transform(text.begin(), text.end(), text.begin(), to_upper);
    return text;
}

void add_unique_id(Names &names, std::uint64_t unique_id)
{
    if (unique_id == 0)
        return;
    const std::string digits = in_capitals(unique_id);
    names.push_back(std::string(uuid_prefix) + digits);
    names.push_back("0x" + digits);
    if (digits.starts_with('0'))
        names.push_back("0x" + digits.substr(digits.find_first_not_of('0')));
}

Names names_of(const Gpu &gpu)
{
    Names names;
    add_unique_id(names, gpu.kfd.unique_id);
    if (gpu.drm_unique_id != gpu.kfd.unique_id)
        add_unique_id(names, gpu.drm_unique_id);
    if (gpu.kfd.render_minor)
        names.push_back(render_name(gpu));
    if (gpu.drm.card)
        names.push_back(gpu.drm.card->name);
    names.push_back(std::to_string(gpu.parent) + ":" + std::to_string(gpu.partition));
    return names;
}

Names groups_of(const Gpu &gpu)
{
    Names groups{is_integrated(gpu) ? "igpu" : "dgpu"};
    if (const std::string gfx = name_of(gpu.kfd.gfx); !gfx.empty())
        groups.push_back(gfx);
    return groups;
}

/** A partition is a part of the GPU, which is nobody's as a whole while somebody has a part. */
std::string lease_key(const Gpu &gpu, bool is_partition)
{
    const std::string key = gpu_lease_key("amd", gpu.address);
    return is_partition ? key + "/" + std::to_string(gpu.partition) : key;
}

/** How lists name each GPU, so that it can be pasted back and means no other. */
class Descriptions final {
public:
    explicit Descriptions(const std::vector<Gpu> &gpus)
    {
        for (const Gpu &gpu : gpus) {
            ++unique_ids_[gpu.kfd.unique_id];
            ++addresses_[gpu.address];
        }
    }

    [[nodiscard]] std::string of(const Gpu &gpu) const
    {
        if (gpu.kfd.unique_id != 0 && unique_ids_.at(gpu.kfd.unique_id) == 1)
            return uuid_text(gpu.kfd.unique_id);
        return addresses_.at(gpu.address) == 1 ? to_text(gpu.address) : render_name(gpu);
    }

    [[nodiscard]] bool is_partition(const Gpu &gpu) const { return addresses_.at(gpu.address) != 1; }

private:
    std::map<std::uint64_t, unsigned> unique_ids_;
    std::map<PciAddress, unsigned> addresses_;
};

/** In order or not: nothing takes its place without a word. What was not passed into a system container is not there. */
bool is_discrete_here(const Gpu &gpu)
{
    return !is_integrated(gpu) && (gpu.problem.empty() || gpu.problem_kind == ErrorKind::BrokenHost);
}

std::string memory_text(const Gpu &gpu)
{
    constexpr unsigned mebibyte = 1U << 20U;
    return gpu.memory ? std::to_string(*gpu.memory / mebibyte) + " MiB" : "";
}

} // namespace

std::string uuid_text(std::uint64_t unique_id)
{
    return unique_id == 0 ? "" : std::string(uuid_prefix) + in_capitals(unique_id);
}

std::vector<Candidate> candidates(const Inventory &inventory)
{
    const std::vector<Gpu> &gpus = inventory.gpus;
    const Descriptions descriptions(gpus);
    const bool has_discrete = std::any_of(gpus.begin(), gpus.end(), is_discrete_here);
    std::vector<Candidate> list;
    list.reserve(gpus.size());
    for (const Gpu &gpu : gpus) {
        Candidate &candidate = list.emplace_back();
        candidate.index = static_cast<unsigned>(list.size() - 1);
        candidate.address = gpu.address;
        candidate.lease_key = lease_key(gpu, descriptions.is_partition(gpu));
        candidate.names = names_of(gpu);
        candidate.groups = groups_of(gpu);
        candidate.description = descriptions.of(gpu);
        candidate.problem = gpu.problem;
        candidate.problem_kind = gpu.problem_kind;
        candidate.closed = obstacle_text(gpu.access, inventory.host_root + dri_directory + render_name(gpu));
        if (has_discrete && is_integrated(gpu))
            candidate.only_by_name =
                "it is integrated, and this host has discrete ones; it can be given by name, "
                "or as 'igpu'";
    }
    return list;
}

HostListing list_gpus(const Inventory &inventory, const std::vector<Candidate> &gpus,
                      const SelectionPolicy &policy)
{
    const Availability availability(gpus, policy);
    HostListing list{
        {"gpus", {"index", "address", "render", "card", "gfx", "type", "vram", "id", "hint", "state"}}};
    list.none = "the driver amdgpu knows no GPU of this host";
    for (size_t i = 0; i < gpus.size(); ++i) {
        const Gpu &gpu = inventory.gpus[i];
        list.rows.push_back({std::uint64_t{i}, to_text(gpu.address), known(render_name(gpu)),
                             known(gpu.drm.card ? gpu.drm.card->name : ""), known(name_of(gpu.kfd.gfx)),
                             is_integrated(gpu) ? "integrated" : "discrete", known(memory_text(gpu)),
                             known(uuid_text(gpu.kfd.unique_id)), known(override_text(gpu.kfd.gfx)),
                             availability.state(i)});
    }
    return list;
}

} // namespace ogh::amd_kfd
