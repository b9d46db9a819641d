// SPDX-License-Identifier: Apache-2.0
#include "nvidia-devices/host/library_answer.h"

#include <algorithm>
#include <array>
#include <set>

#include "base/error.h"
#include "base/letters.h"
#include "base/number.h"
#include "base/text.h"

namespace ogh::nvidia_devices {

namespace {

constexpr size_t max_instance_uuid_size = 80;
constexpr size_t max_profile_size = 32;
constexpr unsigned max_number = 1023;
constexpr std::string_view instance_prefix = "MIG-";

Error refused(const std::string &why)
{
    return {ErrorKind::BrokenHost,
            "what NVIDIA's library (NVML) says of instances (MIG) cannot be right: " + why};
}

bool has_only(std::string_view text, std::string_view others)
{
    return std::all_of(text.begin(), text.end(), [&](char c) {
        return is_letter_or_digit(c) || others.find(c) != std::string_view::npos;
    });
}

bool is_instance_uuid(std::string_view text)
{
    return text.starts_with(instance_prefix) && text.size() > instance_prefix.size() &&
           text.size() <= max_instance_uuid_size && has_only(text, "-/");
}

bool is_profile(std::string_view text)
{
    return !text.empty() && text.size() <= max_profile_size && has_only(text, "-.+");
}

/** Takes the first word off a line of which one blank parts each two. */
std::string_view take_word(std::string_view &line)
{
    const std::string_view word = line.substr(0, line.find(' '));
    line.remove_prefix(std::min(line.size(), word.size() + 1));
    return word;
}

LibraryInstance parse_instance(std::string_view line)
{
    const std::string shown = quote(line);
    std::array<std::optional<unsigned>, 4> numbers;
    LibraryInstance instance;
    instance.address = take_word(line);
    for (auto &number : numbers)
        number = parse_small_number(take_word(line), max_number);
    instance.uuid = take_word(line);
    instance.profile = line;
    const bool are_numbers = std::all_of(numbers.begin(), numbers.end(), [](const auto &n) { return n; });
    if (!are_numbers || !parse_pci_address(instance.address) || !is_instance_uuid(instance.uuid) ||
        !is_profile(instance.profile))
        throw refused("a line " + shown);
    instance.gpu_index = *numbers[0];
    instance.index = *numbers[1];
    instance.gpu_instance = *numbers[2];
    instance.compute_instance = *numbers[3];
    if (instance.profile == "-")
        instance.profile.clear();
    return instance;
}

/** "MIG 1g.10gb+me" is mig-1g.10gb.me, as NVIDIA's device plugin calls it: a plus sign is no letter of a request. */
std::string group_of(const std::string &profile)
{
    std::string name = profile.empty() ? "" : "mig-" + profile;
    std::replace(name.begin(), name.end(), '+', '.');
    return name;
}

std::string place_text(const LibraryInstance &each)
{
    return each.address + "/" + std::to_string(each.gpu_instance) + "/" +
           std::to_string(each.compute_instance);
}

MigInstance &find_instance(const LibraryInstance &each, Inventory &inventory)
{
    unsigned index = 0;
    for (Gpu &gpu : inventory.gpus) {
        if (to_text(gpu.address) != each.address) {
            index += gpu.information.is_excluded ? 0 : 1;
            continue;
        }
        for (MigInstance &instance : gpu.instances) {
            if (instance.gpu_instance != each.gpu_instance ||
                instance.compute_instance != each.compute_instance)
                continue;
            if (each.gpu_index != index)
                throw refused("it counts the GPU " + each.address + " as " + std::to_string(each.gpu_index) +
                              ", which is " + std::to_string(index) + " here");
            return instance;
        }
    }
    throw refused("the driver shows no instance " + place_text(each) + " in /proc");
}

} // namespace

std::vector<LibraryInstance> parse_library_answer(std::string_view text)
{
    std::vector<LibraryInstance> instances;
    while (!text.empty()) {
        const size_t end = text.find('\n');
        if (end == std::string_view::npos)
            break;
        const std::string_view line = text.substr(0, end);
        text.remove_prefix(end + 1);
        if (line == "end" && text.empty())
            return instances;
        instances.push_back(parse_instance(line));
    }
    throw refused("its end is missing");
}

std::vector<std::string> addresses_of_divided(const Inventory &inventory)
{
    std::vector<std::string> addresses;
    for (const Gpu &gpu : inventory.gpus) {
        if (!gpu.instances.empty())
            addresses.push_back(to_text(gpu.address));
    }
    return addresses;
}

void name_instances(const std::vector<LibraryInstance> &answer, Inventory &inventory)
{
    std::set<std::string> seen;
    for (const LibraryInstance &each : answer) {
        MigInstance &instance = find_instance(each, inventory);
        const std::string pair = std::to_string(each.gpu_index) + ":" + std::to_string(each.index);
        for (const std::string &name : {place_text(each), each.uuid, pair}) {
            if (!seen.insert(name).second)
                throw refused(quote(name) + " is there twice");
        }
        instance.names = {pair};
        // Older libraries say what the hook says itself: "MIG-GPU-…/1/0".
        if (!each.uuid.starts_with("MIG-GPU-"))
            instance.names.push_back(each.uuid);
        instance.group = group_of(each.profile);
    }
}

} // namespace ogh::nvidia_devices
