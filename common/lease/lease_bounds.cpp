// SPDX-License-Identifier: Apache-2.0
#include "lease/lease_bounds.h"

#include <algorithm>

#include "base/error.h"
#include "base/text.h"
#include "lease/lease_file.h"

namespace ogh {

namespace {

void check_size(size_t size)
{
    if (size > max_lease_entry)
        throw Error(
            ErrorKind::BrokenHost,
            "the container asks for more devices than can be written down for one: " + std::to_string(size) +
                " bytes of the lease file, of " + std::to_string(max_lease_entry));
}

} // namespace

void require_room(const LeaseState &state)
{
    if (state.allocations.size() + state.tickets.size() + state.observers.size() + state.deprived.size() >=
        max_lease_containers)
        throw Error(ErrorKind::BrokenHost,
                    std::to_string(max_lease_containers) +
                        " containers of this host have GPUs or wait for some, and there are "
                        "leases for no more");
}

void check_quota_name(const std::string &name)
{
    if (stored_size(name) > max_quota_word)
        throw Error(ErrorKind::Usage, "the quota " + quote(name) + " has a name of more than " +
                                          std::to_string(max_quota_word) + " bytes");
}

void check_entry(const Allocation &allocation)
{
    check_size(stored_size(allocation));
    const auto is_too_long = [](const LeasedDevice &device) {
        return stored_size(device.key) > max_device_word;
    };
    if (std::any_of(allocation.devices.begin(), allocation.devices.end(), is_too_long))
        throw Error(ErrorKind::BrokenHost, "a device that the container asks for has a name of more than " +
                                               std::to_string(max_device_word) + " bytes");
}

void check_entry(const Ticket &ticket)
{
    check_size(stored_size(ticket));
}

ContainerLabel within_bounds(const ContainerLabel &label)
{
    const auto cut = [](const std::string &text, size_t most) {
        return std::string(beginning_of(text, most));
    };
    return {cut(label.name, max_label_word), cut(label.image, max_label_path),
            cut(label.user, max_label_word), cut(label.asker, max_label_word),
            cut(label.bundle, max_label_path)};
}

bool watches_too_much(const Ticket &ticket)
{
    return stored_size(ticket) > max_lease_entry;
}

} // namespace ogh
