// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <set>
#include <string>

#include "nvidia-devices/host/library_answer.h"
#include "promise.h"
#include "target.h"

namespace ogh::fuzz::library_answer {

using namespace nvidia_devices;

namespace {

/** Two GPUs, of which the second is divided into 1/0, 1/1 and 7/0. */
Inventory fixed_inventory()
{
    Inventory inventory;
    for (const std::uint8_t bus : {std::uint8_t{0x18}, std::uint8_t{0x3b}}) {
        Gpu gpu;
        gpu.address = {0, bus, 0, 0};
        inventory.gpus.push_back(gpu);
    }
    inventory.gpus[1].is_divided = true;
    inventory.gpus[1].instances = {{1, 0}, {1, 1}, {7, 0}};
    return inventory;
}

void check_written(const std::vector<LibraryInstance> &instances, std::string_view input)
{
    std::string text;
    for (const LibraryInstance &each : instances) {
        require(each.uuid.starts_with("MIG-") && each.uuid.size() <= 80 && is_one_clean_line(each.uuid) &&
                    each.uuid.find_first_of(" ,:") == std::string::npos,
                "a UUID is a word that a request may have");
        require(each.profile.size() <= 32 && is_one_clean_line(each.profile) &&
                    each.profile.find_first_of(" ,:") == std::string::npos,
                "so is a profile");
        text += each.address + " ";
        for (const unsigned number : {each.gpu_index, each.index, each.gpu_instance, each.compute_instance})
            text += std::to_string(number) + " ";
        text += each.uuid + " " + (each.profile.empty() ? "-" : each.profile) + "\n";
    }
    text += "end\n";
    require(parse_library_answer(text) == instances, "what is written as the program does means the same");
    require(text.size() <= input.size(), "nothing is in it that was not said");
}

void check_names(const Inventory &inventory)
{
    std::set<std::string> seen;
    for (const Gpu &gpu : inventory.gpus) {
        for (const MigInstance &instance : gpu.instances) {
            require(instance.names.size() <= 2, "an index and a UUID");
            for (const std::string &name : instance.names)
                require(seen.insert(name).second, "no name means two instances");
            require(instance.group.empty() || instance.group.starts_with("mig-"), "a group says what it is");
            require(instance.group.find('+') == std::string::npos, "a request may have it");
        }
    }
    require(inventory.gpus[1].instances.size() == 3 && inventory.gpus[0].instances.empty(),
            "no instance comes into being");
}

} // namespace

void check(std::string_view input)
{
    const auto answer = attempt([&] { return parse_library_answer(input); });
    require(answer.value || answer.kind == ErrorKind::BrokenHost,
            "an answer that cannot be right is the host's fault");
    if (!answer.value)
        return;
    check_written(*answer.value, input);
    Inventory inventory = fixed_inventory();
    const auto named = attempt([&] {
        name_instances(*answer.value, inventory);
        return true;
    });
    require(named.value || named.kind == ErrorKind::BrokenHost, "so is one that the driver contradicts");
    if (named.value)
        check_names(inventory);
}

} // namespace ogh::fuzz::library_answer
