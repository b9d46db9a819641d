// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/log.h"
#include "oci/config.h"
#include "request/selectors.h"

namespace ogh {

// Kubernetes' device plugins count a node's devices and choose those of a container; kubelet hands on to the engine what
// the plugin answers (AllocateResponse in k8s.io/kubelet's api.proto), and the engine writes it into config.json.

/** Where a vendor's plugin names devices, and how. */
struct PluginNames {
    std::string_view variable;                ///< "NVIDIA_VISIBLE_DEVICES"
    std::vector<std::string_view> kinds = {}; ///< of CDI: "nvidia.com/gpu"; none: it names none of CDI's
    std::vector<std::string_view> prefixes = {"cdi.k8s.io/"}; ///< of the keys of CDI's annotations
    std::vector<std::string_view> directories = {}; ///< with `/` at the end; none: it makes no mounts
    /** Of the whole UUIDs that it has in the variable: "GPU-"; none: its values are not told from others. */
    std::vector<std::string_view> uuid_prefixes = {};
    // What it names in the same ways beside GPUs: NVIDIA's IMEX channels.
    std::string_view other_directory = {}; ///< in the directories, with `/` at the end
    std::vector<std::string_view> other_kinds = {};
    // The nodes that it has the engine make.
    std::string_view control_node = {};   ///< that comes with all others; none: it has none made
    std::string_view node_directory = {}; ///< of the others, with `/` at the end
    std::string_view node_prefix = {};    ///< of the names of those there which name a device
    /** Of a device's own node, before its number; none: such nodes say nothing of whether the container has a GPU. */
    std::string_view numbered_node = {};
};

/** Where kubelet has put what a device plugin gave a container; the stronger ones first. */
enum class PluginSource {
    Nodes,          ///< that the engine makes
    Mounts,         ///< of /dev/null, on names in a directory of the vendor's
    CdiAnnotations, ///< `cdi.k8s.io/…`
    Environment,    ///< the variable that the vendor's own tools read
};

/** What a device plugin has chosen, as selectors, and where that stands. */
struct PluginRequest {
    RequestValue what;
    PluginSource source = {};
};

/** What a host believes of a device plugin. */
struct DevicePlugin {
    PluginNames names;
    std::vector<PluginSource> from = {}; ///< ascending; none: containers ask themselves
    /** Whether the vendor's own tools have put something into config.json: then they give what the plugin has chosen. */
    bool (*is_served_by_tools)(const Config &) = [](const Config &) { return false; };
};

/** How --from calls it. */
std::string_view word_of(PluginSource source);

/**
 * Understands --from: `nodes`, `mounts`, `cdi-annotations`, `environment`, in any order, separated by commas.
 * @throws Error (Usage) for anything else, and for what this vendor's plugin does not do
 */
std::vector<PluginSource> parse_plugin_sources(const RequestValue &list, const PluginNames &names);

/**
 * What the plugin has given the container, as selectors: of the sources that the host believes the first that says
 * anything, in the order of PluginSource. Nodes of a privileged container are no plugin's. The environment's value is
 * `env`; one that is `all`, `none`, `void` or empty is an image's own, which a note says: no plugin names devices so. A mount
 * counts by what config.json has for its source and destination.
 *
 * @return nothing if none says anything
 * @throws Error (Usage) for what no plugin says: a name that is none, an environment with anything but whole UUIDs where
 *         the plugin has these, a mount in its directory that is not of /dev/null
 */
std::optional<PluginRequest> find_plugin_request(const Config &config, const DevicePlugin &plugin,
                                                 Notes &notes);

/** The names beside devices that the plugin gives by `source`; none by the environment. @throws Error (Usage) */
std::vector<std::string> find_plugin_others(const Config &config, const PluginNames &names,
                                            PluginSource source);

/** Whether the plugin would call a device so; false where its names are not told from others. */
bool is_plugin_uuid(std::string_view item, const PluginNames &names);

/** The first mount in the plugin's directory, whatever its source. */
std::optional<std::string> find_plugin_mount(const Config &config, const PluginNames &names);

/**
 * A container is not to start without the devices that its mounts name, and without a word.
 * @throws Error (Usage) if there is such a mount
 */
void refuse_plugin_mounts(const Config &config, const PluginNames &names);

/**
 * For a container to which no source that the host believes gives anything. What a device plugin leaves on one is told from
 * what its image says, but not from what its pod does: whole UUIDs in the variable, a mount in the plugin's directory, a device
 * of the vendor's kinds in an annotation. A container that counts a GPU is not to start without one, and without a word.
 *
 * Not so where the vendor's own tools serve it, and where it has the nodes of such devices already, as by CDI or with what
 * kubelet calls device specs; a privileged container has those of all.
 * @throws Error (Usage) with what was found, and what it takes to be believed
 */
void refuse_unbelieved_marks(const Config &config, const DevicePlugin &plugin);

} // namespace ogh
