// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "container/entered_container.h"
#include "edits/edits.h"

namespace ogh {

// Steps of commit() for devices, and for what is made in directories of the container. What is made in the image outlives a
// container that does not start; its /dev and its device cgroups do not.

/** Lets the container's processes open the devices of Edits::nodes. @throws Error */
void allow_devices(const Edits &edits, EnteredContainer &container);

/** The same for systemd, where it has rules of its own for the container; see allow_in_scope(). Never throws. */
void allow_devices_in_scope(const Edits &edits, EnteredContainer &container);

/** Edits::nodes: made in the container's /dev, or mounted there where none can be made. @throws Error */
void put_nodes(const Edits &edits, EnteredContainer &container);

/** Edits::links. @throws Error, except for those that are optional */
void make_links(const Edits &edits, EnteredContainer &container);

/** Those of Edits::files that replace others. @throws Error */
void replace_files(const Edits &edits, EnteredContainer &container);

// Steps of commit() that mount something. Mounts die with the container.

/** Edits::mounts; none where an earlier run has put the same source, with the same attributes. @throws Error */
void attach_mounts(const Edits &edits, EnteredContainer &container);

/** Edits::tree. @throws Error */
void put_tree(const Edits &edits, EnteredContainer &container);

/** Those of Edits::files that are mounted over others. @throws Error */
void bind_files(const Edits &edits, EnteredContainer &container);

} // namespace ogh
