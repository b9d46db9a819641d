// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/log.h"
#include "oci/config.h"

namespace ogh {

/** Annotations of this collection begin with it. */
constexpr std::string_view annotation_prefix = "io.oci-gpu-hooks.";

/**
 * The value of an annotation of this collection that is as if it were not there. podman before 4.5.1 makes an image's
 * annotations the container's, below the defaults of containers.conf: with this value as the default of each key an
 * image asks for nothing, and the caller, the environment and the host still do.
 */
constexpr std::string_view absent_value = "-";

/**
 * Whether podman made the container. Before 4.5.1 it writes `io.podman.annotations.*` into each, after what an image says,
 * which can forge `io.container.manager`; later versions, where an image says nothing, always have the latter.
 */
bool is_by_podman(const Config &config);

/** An annotation that counts; the value is that of the configuration. */
struct OwnAnnotation {
    std::string name;
    const std::string *value;
};

/**
 * `io.oci-gpu-hooks.KEY`, or `io.oci-gpu-hooks.KEY/CONTAINER` which wins. The latter does not count in a container that
 * podman made: there the name of the container is whoever's, an image's before podman 4.5.1.
 * @return nothing where it is not there, or its value is absent_value
 */
std::optional<OwnAnnotation> find_own_annotation(const Config &config, std::string_view key);

/**
 * A container must not start without what it asks for, and without a word.
 * @param notes what does not count and is no error: KEY/CONTAINER beside KEY in a container of podman's
 * @throws Error (Usage) for a key of this collection that no hook knows, and for one with the name of a container where
 *         that is not known
 */
void check_own_annotations(const Config &config, Notes &notes);

/** What else may be said of a hook: NAME of each key `HOOK.NAME` of this collection, such as "lease". */
std::vector<std::string_view> detail_names(std::string_view hook);

/** What CRI-O writes into each container of a pod. */
constexpr std::string_view crio_pod_key = "io.kubernetes.pod.namespace";

/**
 * The key by which an engine says that the container is a pod's of Kubernetes: "io.kubernetes.cri.sandbox-namespace" of
 * containerd's, or that of CRI-O. A pod's author cannot take it away. podman's own pods have none.
 * @return "" if there is none
 */
std::string_view pod_key(const Config &config);

/** Whether an engine writes the annotation after a pod's own ones: where it does, no user has chosen the value. */
bool is_engines_annotation(std::string_view key);

/**
 * Why the value of such an annotation is not the engine's for certain: there is none, podman made the container, which
 * writes none, or there are two engines', of which one is the user's.
 * @return "" if it is
 */
std::string why_not_engines(const Config &config, std::string_view key);

/** The value of such an annotation. @throws Error (Denied) if why_not_engines() has a reason */
const std::string &engines_value(const Config &config, std::string_view key);

// KEY=PATTERN, several of them: what a host says of a container's annotations. PATTERN is that of fnmatch(3).

/** @param option that takes them, for the message. @throws Error (Usage) for one that is not of that form */
void check_patterns(const std::vector<std::string> &patterns, const std::string &option);

/** What is in front of its first `=`. */
std::string key_of_pattern(const std::string &pattern);

/** Every KEY needs a match; of several patterns for it, one. @return the first KEY that has none; "" if all have */
std::string unmet_key(const Config &config, const std::vector<std::string> &patterns);

// Containers that look after a node's GPUs, such as a device plugin's own and a monitor's: they see all of them beside
// those who use them, and have no lease.

/**
 * --observer: KEY=PATTERN each. The namespace that the engine writes has to be among the keys, as whoever writes a pod
 * chooses all else that an engine says of it.
 * @throws Error (Usage) if there are some and none is such a key, or two engines' are, of which no container has both
 */
void check_observers(const std::vector<std::string> &patterns);

/** Whether the container meets them, and its namespace is the engine's word; none: it does not. */
bool is_observer(const Config &config, const std::vector<std::string> &patterns);

} // namespace ogh
