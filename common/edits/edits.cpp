// SPDX-License-Identifier: Apache-2.0
#include "edits/edits.h"

#include <sys/mount.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/text.h"

namespace ogh {

using nlohmann::ordered_json;

namespace {

ordered_json file_to_json(const FileEdit &file)
{
    ordered_json json = {{"path", as_utf8(file.container_path)},
                         {"how", file.how == FileEdit::How::Replace ? "replace" : "mount"},
                         {"size", file.content.size()}};
    if (file.mode != FileEdit().mode)
        json["fileMode"] = file.mode;
    if (file.content.find('\0') == std::string::npos)
        json["content"] = as_utf8(file.content);
    return json;
}

constexpr auto attribute_words = std::to_array<std::pair<std::uint64_t, const char *>>(
    {{MOUNT_ATTR_NOEXEC, "noexec"}, {MOUNT_ATTR_NOATIME, "noatime"}, {MOUNT_ATTR_NODIRATIME, "nodiratime"}});

ordered_json mount_to_json(const MountEdit &mount)
{
    const char *bind = mount.kind == Kind::Directory && mount.recursive ? "rbind" : "bind";
    ordered_json options = {bind, mount.read_only ? "ro" : "rw", "nosuid", "nodev", "rprivate"};
    if (mount.idmap)
        options.push_back("ridmap");
    for (const auto &[attribute, word] : attribute_words)
        if ((mount.attributes & attribute) == attribute)
            options.push_back(word);
    return {{"hostPath", as_utf8(mount.host_path)},
            {"containerPath", as_utf8(mount.container_path)},
            {"options", options}};
}

ordered_json node_to_json(const NodeEdit &node)
{
    ordered_json json = {{"path", as_utf8(node.container_path)},
                         {"hostPath", as_utf8(node.host_path)},
                         {"type", S_ISBLK(node.type)    ? "b"
                                  : S_ISFIFO(node.type) ? "p"
                                                        : "c"}};
    if (!S_ISFIFO(node.type)) {
        json["major"] = node.major;
        json["minor"] = node.minor;
    }
    json["fileMode"] = node.mode;
    if (node.access != 0)
        json["permissions"] = access_text(node.access);
    if (node.owner != NodeOwner()) {
        json["uid"] = node.owner.uid;
        json["gid"] = node.owner.gid;
    }
    return json;
}

template<typename Edit>
ordered_json list(const std::vector<Edit> &edits, ordered_json (*to_json)(const Edit &))
{
    ordered_json array = ordered_json::array();
    std::transform(edits.begin(), edits.end(), std::back_inserter(array), to_json);
    return array;
}

ordered_json link_to_json(const LinkEdit &link)
{
    return {{"path", as_utf8(link.container_path)}, {"target", as_utf8(link.target)}};
}

/** What is planned, as far as CDI has words for it, and the rest. */
struct Document {
    ordered_json edits = ordered_json::object(); ///< CDI's containerEdits
    ordered_json links = ordered_json::array();
    ordered_json files = ordered_json::array();
    ordered_json cgroup = ordered_json::array();
};

/** CDI has a word for the mounts alone. */
void add_tmpfs(const TmpfsEdit &tmpfs, bool has_programs, Document &document)
{
    ordered_json options = {"ro", "nosuid", "nodev"};
    if (!has_programs)
        options.push_back("noexec");
    auto &mounts = document.edits["mounts"];
    mounts.push_back({{"hostPath", "tmpfs"},
                      {"containerPath", as_utf8(tmpfs.container_path)},
                      {"type", "tmpfs"},
                      {"options", options}});
    for (const MountEdit &mount : tmpfs.mounts)
        mounts.push_back(mount_to_json(mount));
    for (const LinkEdit &link : tmpfs.links)
        document.links.push_back(link_to_json(link));
    for (const TmpfsEdit::File &file : tmpfs.files)
        document.files.push_back(
            file_to_json({tmpfs.container_path + "/" + file.path, file.content, FileEdit::How::MountOver}));
}

Document document_of(const Edits &edits)
{
    Document document;
    if (!edits.nodes.empty())
        document.edits["deviceNodes"] = list(edits.nodes, node_to_json);
    document.edits["mounts"] = list(edits.mounts, mount_to_json);
    if (edits.tree)
        add_tmpfs(*edits.tree, true, document);
    for (const LinkEdit &link : edits.links)
        document.links.push_back(link_to_json(link));
    for (const FileEdit &file : edits.files)
        document.files.push_back(file_to_json(file));
    if (edits.proc)
        add_tmpfs(*edits.proc, false, document);
    for (const DeviceRule &rule : rules_of(edits.nodes))
        document.cgroup.push_back(to_text(rule));
    return document;
}

/** Annotations are the one place where CDI's parser takes what it does not know; their values are texts. */
void annotate(ordered_json &device, const char *name, const ordered_json &value)
{
    if (!value.empty())
        device["annotations"][std::string("io.oci-gpu-hooks/") + name] = value.dump(-1, ' ', true);
}

} // namespace

NodeEdit host_node(const std::string &host_root, const std::string &path, const DeviceNumber &number)
{
    return {path, host_root + path, number.major, number.minor};
}

NodeEdit driver_node(const std::string &host_root, const std::string &path, const DeviceNumber &number)
{
    NodeEdit node = host_node(host_root, path, number);
    node.is_of_driver = true;
    return node;
}

void add_drm_nodes(const DrmNodes &drm, const std::string &host_root, const std::string &device, Edits &edits)
{
    for (const auto &[node, kind] : {std::pair(&drm.card, "-card"), std::pair(&drm.render, "-render")}) {
        if (!*node)
            continue;
        edits.nodes.push_back(
            host_node(host_root, dri_directory + (*node)->name, {(*node)->major, (*node)->minor}));
        edits.links.push_back({dri_directory + ("by-path/" + device) + kind, "../" + (*node)->name});
    }
}

DeviceRules rules_of(const std::vector<NodeEdit> &nodes)
{
    DeviceRules rules;
    for (const NodeEdit &node : nodes) {
        const auto type = S_ISBLK(node.type) ? DeviceRule::Type::Block : DeviceRule::Type::Char;
        if (node.access != 0 && !S_ISFIFO(node.type))
            rules.push_back({type, node.major, node.minor, node.access});
    }
    return rules;
}

DeviceRules leased_rules_of(std::vector<NodeEdit> nodes)
{
    std::erase_if(nodes, [](const NodeEdit &node) { return node.is_of_driver; });
    return checked(rules_of(nodes));
}

std::string to_json(const Edits &edits)
{
    const Document document = document_of(edits);
    ordered_json device = {{"name", "plan"}};
    annotate(device, "links", document.links);
    annotate(device, "files", document.files);
    annotate(device, "cgroup", document.cgroup);
    device["containerEdits"] = document.edits;
    // 0.6.0 is the first version with annotations.
    const ordered_json specification = {{"cdiVersion", "0.6.0"},
                                        {"kind", "io.oci-gpu-hooks/plan"},
                                        {"devices", ordered_json::array({device})}};
    // ASCII alone: text of the host or the image must not act on the terminal that shows it.
    return specification.dump(2, ' ', true) + "\n";
}

} // namespace ogh
