// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/stat.h>
#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/number.h"
#include "edits/device_rule.h"
#include "host/drm_nodes.h"
#include "kernel/inode.h"

namespace ogh {

/** One directory or file of the host that a container gets to see. */
struct MountEdit {
    std::string host_path;      ///< absolute, without symlinks; as this process names it
    std::string container_path; ///< absolute inside the container
    Kind kind = Kind::Directory;
    bool read_only = true;
    bool idmap = false;    ///< in a user namespace, map the owners of the files into it
    bool recursive = true; ///< with all that is mounted below it
    std::uint64_t attributes =
        0; ///< of the mount, beyond those that each has: MOUNT_ATTR_* of <linux/mount.h>

    bool operator==(const MountEdit &) const = default;
};

/** A file of the container whose content is ours. */
struct FileEdit {
    enum class How {
        Replace,   ///< take the name, by rename
        MountOver, ///< leave the file as it is, and mount ours over it, read-only
    };

    std::string container_path; ///< absolute inside the container
    std::string content;
    How how = How::Replace;
    mode_t mode = 0644;            ///< or 0600, where not everybody may read what it takes the place of
    bool only_if_possible = false; ///< of one that replaces: go on without it where it cannot be written

    bool operator==(const FileEdit &) const = default;
};

/** Whom a node belongs to, as the container numbers them. */
struct NodeOwner {
    uid_t uid = 0;
    gid_t gid = 0;

    bool operator==(const NodeOwner &) const = default;
};

/** A device that a container may use: a node, and a rule of its device cgroups. */
struct NodeEdit {
    std::string container_path; ///< absolute inside the container
    std::string host_path;      ///< as this process names it; the host need not have it
    unsigned major = 0;
    unsigned minor = 0;
    mode_t mode = 0666;    ///< for everyone: the private /dev and the device cgroup are the gate
    mode_t type = S_IFCHR; ///< or S_IFBLK; S_IFIFO is no device, and has neither numbers nor a rule
    unsigned access = access_read | access_write; ///< of the rule; 0: there is none
    NodeOwner owner = {};
    bool is_of_driver =
        false; ///< all devices of its driver have it in common: it is none of those that are leased

    bool operator==(const NodeEdit &) const = default;
};

/** A symlink. */
struct LinkEdit {
    std::string container_path;  ///< absolute inside the container
    std::string target;          ///< as it is written into the link
    bool only_if_absent = false; ///< leave what the image has of its own, and go on where it cannot be made

    bool operator==(const LinkEdit &) const = default;
};

/** A read-only tmpfs of this collection that is mounted in a container, and what there is below it. */
struct TmpfsEdit {
    struct File {
        std::string path; ///< relative to the tmpfs
        std::string content;

        bool operator==(const File &) const = default;
    };

    std::string container_path; ///< absolute inside the container
    std::vector<File> files = {};
    std::vector<MountEdit> mounts = {};
    std::vector<LinkEdit> links = {};

    bool operator==(const TmpfsEdit &) const = default;
};

/** What is to be done to a container; a plain value, in the words of CDI's containerEdits. */
struct Edits {
    std::vector<MountEdit> mounts = {};
    std::vector<FileEdit> files = {}; ///< those that replace others do so in this order, after all mounts
    std::vector<NodeEdit> nodes = {};
    std::vector<LinkEdit> links = {};
    /** Over a directory of /proc; where the container lacks it there is nothing to do. It has no links. */
    std::optional<TmpfsEdit> proc = {};
    std::optional<TmpfsEdit> tree = {}; ///< over a directory that is made if need be

    [[nodiscard]] bool empty() const { return *this == Edits{}; }

    bool operator==(const Edits &) const = default;
};

/** A character device of the host's, with its numbers. @param host_root the sysroot, as this process names it; "" for `/` */
NodeEdit host_node(const std::string &host_root, const std::string &path, const DeviceNumber &number);

/** One that says nothing of which device it is for: a container that has one by another way goes on needing it. */
NodeEdit driver_node(const std::string &host_root, const std::string &path, const DeviceNumber &number);

/**
 * Adds a GPU's nodes in /dev/dri, and the links that udev makes to them in by-path (systemd's 60-drm.rules).
 * @param device as these links call it: "pci-0000:5e:00.0"
 */
void add_drm_nodes(const DrmNodes &drm, const std::string &host_root, const std::string &device,
                   Edits &edits);

/** What the device cgroups have to allow for these nodes. */
DeviceRules rules_of(const std::vector<NodeEdit> &nodes);

/** Of these what goes when the devices are taken away again. */
DeviceRules leased_rules_of(std::vector<NodeEdit> nodes);

/**
 * The edits as JSON for --plan: a specification of the Container Device Interface with one device. What that has no
 * word for (links, files with their content where that is text, rules of the device cgroup) stands in the device's
 * annotations, as JSON in a string, since its parser refuses members that it does not know. Bytes of a path that are
 * not UTF-8 are written as \xNN.
 */
std::string to_json(const Edits &edits);

} // namespace ogh
