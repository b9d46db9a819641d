// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace ogh::cdi_devices {

/**
 * A path of the container without what says nothing in it: `.`, slashes. Pure.
 * @throws Error (BrokenHost) if it is not absolute, or has a `..`
 */
std::string clean_path(const std::string &path);

/**
 * Where in the container a mount appears, without what says nothing in the path. Pure.
 * @throws Error: BrokenHost if it is not absolute, or has a `..`; Denied if it lies on or above what no specification may
 *         cover: the root, /proc, /sys and /dev, the tree of this collection, and the files that engines make
 */
std::string mount_target(const std::string &path);

/** The same for a device node: it lies below /dev. */
std::string node_target(const std::string &path);

} // namespace ogh::cdi_devices
