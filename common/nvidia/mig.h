// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/unique_fd.h"
#include "host/node_access.h"
#include "host/sysroot.h"

namespace ogh {

/** A name that is a word and a number, as the kernel writes it: "gi7". */
struct NumberedName {
    unsigned number = 0;
    std::string name;
};

struct NumberedNames {
    std::string directory;   ///< as this process names it, for messages
    std::string_view prefix; ///< the word
    unsigned limit = 0;      ///< the highest number that counts
};

/**
 * The names in an open directory (O_PATH will do) that are the word and a number, in the order of the numbers.
 * @throws Error (BrokenHost) if it cannot be read, or has more than 1024 of them
 */
std::vector<NumberedName> numbered_names(int directory, const NumberedNames &wanted);

// How the driver shows GPUs that are divided (MIG): for each GPU instance and each compute instance in it a directory below
// /proc/driver/nvidia/capabilities, and in that a file `access`, which names a node of /dev/nvidia-caps. Whoever opens the
// node has the right to the instance.

constexpr const char *capabilities_directory = "/proc/driver/nvidia/capabilities";

/** A node of /dev/nvidia-caps. */
struct CapNode {
    unsigned minor = 0;
    mode_t mode = 0444;

    bool operator==(const CapNode &) const = default;
};

/** "/dev/nvidia-caps/nvidia-cap13" */
std::string cap_node_path(const CapNode &node);

/** A compute instance of a GPU instance: what NVIDIA's tools call a MIG device. */
struct MigInstance {
    unsigned gpu_instance = 0;
    unsigned compute_instance = 0;
    // Nothing as long as read_nodes() has not looked, and of an instance with a problem.
    std::optional<CapNode> gpu_node = {};
    std::optional<CapNode> compute_node = {};
    std::vector<std::string> names =
        {};                   ///< what NVIDIA's library calls it: "0:1", "MIG-…"; none if it was not asked
    std::string group = {};   ///< of its profile: "mig-1g.10gb"; "" as for the names
    std::string problem = {}; ///< why it cannot be handed out; "" if it can, or nobody has looked
    NodeAccess access = NodeAccess::Open; ///< to the node of the compute instance, as read_access() finds it

    bool operator==(const MigInstance &) const = default;
};

/**
 * Understands a file `access`: lines "KEY: NUMBER", of which DeviceFileMinor and DeviceFileMode (decimal) count.
 * @return nothing if one of them is missing, or nothing that a node of it could have
 */
std::optional<CapNode> parse_cap_access(std::string_view text);

/** What /proc/driver/nvidia-caps/mig-minors says: lines "NAME MINOR" for all that the driver could ever have, thousands. */
class MigMinors final {
public:
    explicit MigMinors(std::string_view text);

    /**
     * @param name "gpu0/gi1/access" or "config"
     * @return nothing if no line has the name and a number that a node could have
     */
    [[nodiscard]] std::optional<unsigned> find(const std::string &name) const;

private:
    std::unordered_map<std::string, std::optional<unsigned>> minors_;
};

/** Where the files of an instance are, below the driver's directory `capabilities`: "gpu3/mig/gi1/access". */
std::string gpu_instance_access(unsigned gpu_minor, unsigned gpu_instance);

/** "gpu3/mig/gi1/ci0/access" */
std::string compute_instance_access(unsigned gpu_minor, const MigInstance &instance);

/** Reads how GPUs are divided. The sysroot must outlive it. */
class MigReader final {
public:
    /** @throws Error (BrokenHost) */
    explicit MigReader(const Sysroot &sysroot);

    /** The driver's directory `capabilities`, as this process names it; "" if there is none. */
    [[nodiscard]] const std::string &directory() const { return directory_name_; }

    /**
     * What a GPU is divided into, in the order of the numbers, without nodes.
     * @param gpu_minor of /dev/nvidiaN, by which the driver names it here
     * @return nothing if the GPU is not divided; it may be, and have no compute instance
     * @throws Error (BrokenHost) if the directories cannot be read, or hold more than the driver can make
     */
    [[nodiscard]] std::optional<std::vector<MigInstance>> instances_of(unsigned gpu_minor) const;

    /** Fills in the nodes of an instance, or else its problem. */
    void read_nodes(unsigned gpu_minor, MigInstance &instance);

private:
    /** Read once; empty if there is none. @throws Error (BrokenHost) */
    const MigMinors &minors();
    CapNode read_access(const std::string &path, const std::string &name);
    CapNode read_gpu_node(unsigned gpu_minor, unsigned gpu_instance);

    const Sysroot &sysroot_;
    UniqueFd directory_;
    std::string directory_name_;
    std::optional<MigMinors> minors_;
    std::optional<std::pair<std::string, CapNode>> last_gpu_node_; ///< by its file: many ask for it in a row
};

} // namespace ogh
