// SPDX-License-Identifier: Apache-2.0
#include "nvidia-devices/host/instance_names.h"

#include <string>

#include "base/error.h"
#include "base/text.h"
#include "nvidia-devices/driver/instance_query.h"
#include "nvidia-devices/host/library_answer.h"
#include "nvidia-devices/host/mig_devices.h"

namespace ogh::nvidia_devices {

void name_instances_for(const Selectors &selectors, const SelectionPolicy &policy, const DriverPlaces &places,
                        Inventory &inventory, Notes &notes)
{
    const auto name = find_library_name(selectors, policy);
    const auto addresses = addresses_of_divided(inventory);
    if (!name || addresses.empty())
        return;
    const auto no_names = [&](ErrorKind kind, const std::string &why) {
        return Error(kind, "no GPU " + quote(*name) + ": " + why + "; " + without_library(inventory));
    };
    try {
        if (!inventory.version)
            throw NoLibrary("the driver's version is not known");
        const std::string answer =
            query_instances(places.sysroot, open_driver_root(places), inventory, addresses, notes);
        name_instances(parse_library_answer(answer), inventory);
    } catch (const NoLibrary &error) {
        throw no_names(
            ErrorKind::NotAvailable,
            std::string("NVIDIA's library alone knows how the instances of a GPU (MIG) are counted, and "
                        "UUIDs and profiles of theirs, and ") +
                error.what());
    } catch (const Error &error) {
        throw no_names(error.kind(), error.what());
    }
}

} // namespace ogh::nvidia_devices
