// SPDX-License-Identifier: Apache-2.0
#include "edits.h"

#include <nlohmann/json.hpp>

#include "text.h"

namespace ogh {

std::string to_json(const Edits &edits)
{
    using nlohmann::ordered_json;
    ordered_json mounts = ordered_json::array();
    for (const MountEdit &mount : edits.mounts) {
        const char *bind = mount.kind == Kind::Directory ? "rbind" : "bind";
        ordered_json options = {bind, mount.read_only ? "ro" : "rw", "nosuid", "nodev", "rprivate"};
        if (mount.idmap)
            options.push_back("ridmap");
        mounts.push_back({{"hostPath", as_utf8(mount.host_path)},
                          {"containerPath", as_utf8(mount.container_path)},
                          {"options", options}});
    }
    const ordered_json document = {{"containerEdits", {{"mounts", mounts}}}};
    return document.dump(2) + "\n";
}

} // namespace ogh
