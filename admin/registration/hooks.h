// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ogh::admin {

/** A hook of this collection, as it was built. */
struct OurHook {
    std::string_view name;       ///< "nvidia-devices"
    std::string_view file;       ///< "20-nvidia-devices.json": engines call hooks in the order of these names
    std::string_view executable; ///< where it is installed
    bool gives_gpus;
};

/** All of them, in the order in which engines call them. */
std::span<const OurHook> our_hooks();

/** @return nullptr if there is none of that name */
const OurHook *find_hook(std::string_view name);

/** The directory of JSON files that engines read by default, as this was built. */
extern const std::string_view default_hooks_directory;

/** The directory for those that the host has changed. */
inline constexpr std::string_view own_hooks_directory = "/etc/containers/oci/hooks.d";

/**
 * The regular expression that "when" has for a hook: its own annotations. That of ldcache-update, which goes along with
 * whatever gives libraries, matches all, and so it is the one that refuses a misspelt one.
 */
std::string annotations_of(const OurHook &hook);
inline constexpr std::string_view misspelling_hook = "ldcache-update";

/** The one for the values: those that say something ("-" is as if the annotation were not there), and empty ones. */
inline constexpr const char *values_that_count = "^([^-]|-.)|^$";

/**
 * The file that `install` writes for an engine which makes annotations of images those of containers. It is to be the
 * last one that has a list of annotations.
 */
inline constexpr const char *default_annotations_file =
    "/etc/containers/containers.conf.d/99-oci-gpu-hooks-annotations.conf";

/** The annotations of this collection, whole, that are in none of the entries (KEY=VALUE): an image may have them. */
std::vector<std::string> keys_without_default(const std::vector<std::string> &entries);

/** What follows the prefix in each annotation that a hook knows: "nvidia-devices", "nvidia-devices.lease". */
std::span<const std::string_view> annotation_keys();

} // namespace ogh::admin
