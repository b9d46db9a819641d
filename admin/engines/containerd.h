// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "host/sysroot.h"

namespace ogh::admin {

inline constexpr const char *containerd_main_file = "/etc/containerd/config.toml";
inline constexpr std::int64_t first_that_merges = 3; ///< the version of the configuration of containerd 2.0

/** A runtime of the plugin for CRI, which a pod's RuntimeClass names by its handler. */
struct ContainerdRuntime {
    std::string name;
    std::string base_spec; ///< base_runtime_spec: what its containers start from; "" for containerd's own
    bool systemd_cgroup = false;
    std::vector<std::string> pod_annotations; ///< patterns of Go's path.Match, of what is handed on
    std::vector<std::string> container_annotations;
};

/** containerd's configuration: its main file and those that this one imports (containerd-config.toml(5)). */
struct ContainerdConfig {
    bool exists = false;              ///< there is a main file
    std::int64_t version = 1;         ///< that the main file says: 1 if it says none
    std::vector<std::string> imports; ///< of the main file, as they are written
    std::vector<std::string> files;   ///< in the order in which they are read
    std::string plugin_file;          ///< the last of them that has the plugin for CRI; "" if none has
    nlohmann::json plugin;            ///< what is in effect of that; an empty object if nothing is set

    /** Those that are named: containerd has one of its own, "runc", beside them or where there are none. */
    [[nodiscard]] std::vector<ContainerdRuntime> runtimes() const;

    /** Of a pod that names none. */
    [[nodiscard]] ContainerdRuntime default_runtime() const;
};

/** Where an import leads, with a pattern for the name at its end: relative to the directory of the file that has it. */
std::string path_of_import(const std::string &parent, const std::string &import);

/** The table of the plugin for CRI, in a file that says this version of the configuration. */
const char *containerd_plugin(std::int64_t version);

/**
 * @param main_text in place of what the main file says
 * @throws Error (BrokenHost) if a file cannot be read or is no TOML, or one that is imported by name is not there
 */
ContainerdConfig read_containerd(const Sysroot &sysroot,
                                 const std::optional<std::string> &main_text = std::nullopt);

} // namespace ogh::admin
