// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "host/sysroot.h"

namespace ogh::admin {

// Before 4.6 podman makes the annotations of an image those of the container, where neither its defaults
// (`annotations` below [containers], containers.conf(5)) nor the caller has the same key. A list in a later file takes
// the place of one in an earlier file.

/** Such a list, and the file that has it. */
struct DefaultAnnotations {
    std::string file;
    std::vector<std::string> entries; ///< KEY=VALUE
};

/** The file that `install` writes. It is to be the last one that has such a list. */
inline constexpr const char *default_annotations_file =
    "/etc/containers/containers.conf.d/99-oci-gpu-hooks-annotations.conf";

/** Each list of podman's configuration, in its order: the last one is in effect. @throws Error (BrokenHost) */
std::vector<DefaultAnnotations> read_default_annotations(const Sysroot &sysroot);

/** The annotations of this collection, whole, that are in none of the entries: an image may have them. */
std::vector<std::string> keys_without_default(const std::vector<std::string> &entries);

/**
 * Whether podman makes an image's annotations the container's, by `podman --version`.
 * @return nothing where that is not known, as of another host's (--sysroot), whose programs are not run
 */
std::optional<bool> takes_image_annotations(const Sysroot &sysroot);

} // namespace ogh::admin
