// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "hook/listing.h"
#include "mount-srv/inventory.h"
#include "mount-srv/plan.h"

namespace ogh::mount_srv {

/** What --list says: a row for each entry of the source folder, in the order of Inventory::folders. Pure. */
HostListing list_folders(const Inventory &inventory, const Policy &policy);

} // namespace ogh::mount_srv
