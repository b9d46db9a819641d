// SPDX-License-Identifier: Apache-2.0
#include "edits.h"

#include <nlohmann/json.hpp>

#include "text.h"

namespace ogh {

using nlohmann::ordered_json;

namespace {

ordered_json file_to_json(const FileEdit &file)
{
    ordered_json json = {{"path", as_utf8(file.container_path)},
                         {"how", file.how == FileEdit::How::Replace ? "replace" : "mount"},
                         {"size", file.content.size()}};
    if (file.content.find('\0') == std::string::npos)
        json["content"] = as_utf8(file.content);
    return json;
}

} // namespace

std::string to_json(const Edits &edits)
{
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
    ordered_json document = {{"containerEdits", {{"mounts", mounts}}}};
    for (const FileEdit &file : edits.files)
        document["files"].push_back(file_to_json(file));
    return document.dump(2) + "\n";
}

} // namespace ogh
