// SPDX-License-Identifier: Apache-2.0
#include "nvidia-devices/plan/requested_tree.h"

#include "base/error.h"
#include "base/text.h"
#include "nvidia-devices/driver/driver_files.h"

namespace ogh::nvidia_devices {

namespace {

TreeRecord record_for(const GpuSelection &selection, const Inventory &inventory)
{
    TreeRecord record{selection.capabilities};
    // Only the profile for graphics names GPUs: a second request for another GPU otherwise finds all there.
    if (selection.capabilities.has(Capability::Graphics) || selection.capabilities.has(Capability::Display)) {
        for (const size_t gpu : selection.gpus)
            record.minors.insert(inventory.gpus[gpu].information.minor.value());
    }
    return record;
}

} // namespace

DriverTree read_requested_tree(const DriverPlaces &places, const GpuSelection &selection,
                               const Inventory &inventory, const std::optional<std::string> &earlier,
                               Notes &notes)
{
    const bool is_required = !selection.gpus.empty();
    if (!inventory.version && is_required)
        throw Error(ErrorKind::BrokenHost,
                    "the files of a driver whose version cannot be understood cannot be found");
    if (!inventory.version)
        return {};
    DriverTree tree{true, false, record_for(selection, inventory), *inventory.version, {}};
    if (const auto before = earlier ? parse_tree_record(*earlier) : std::nullopt) {
        tree.record = joined(tree.record, *before);
        tree.is_there = tree.record == *before;
    }
    tree.files = read_driver_files(places, {tree.version, tree.record.capabilities, is_required}, notes);
    return tree;
}

} // namespace ogh::nvidia_devices
