// SPDX-License-Identifier: Apache-2.0
#include "mount-srv/folder_list.h"

namespace ogh::mount_srv {

HostListing list_folders(const Inventory &inventory, const Policy &policy)
{
    HostListing list{"folders", {}, {"name", "access", "path", "state"}, {}};
    for (const Folder &folder : inventory.folders) {
        const std::string state = is_allowed(folder.name, policy) ? folder.problem : "not allowed";
        list.rows.push_back({folder.name, is_writable(folder, policy) ? "writable" : "read-only",
                             known(folder.host_path), state});
    }
    return list;
}

} // namespace ogh::mount_srv
