// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

namespace ogh {

/**
 * Makes this process independent of how it was started: descriptors 0 to 2 open and no others, cwd `/`,
 * default signals and none blocked (SIGPIPE and SIGXFSZ ignored), umask 022, empty environment, not dumpable, and no way
 * to gain privileges. The first thing in main.
 *
 * @throws Error in a dynamically linked build that was started with LD_PRELOAD, LD_LIBRARY_PATH or LD_AUDIT
 */
void set_up_process();

/**
 * Cuts every capability set down to `kept` (numbers as in <linux/capability.h>): the bounding set is emptied,
 * inheritable and ambient are empty. A capability that the process does not have is not gained, and that is no
 * error here: require_capabilities() says so where one is needed.
 */
void limit_capabilities(const std::vector<unsigned> &kept);

/**
 * Gives up some of what limit_capabilities() has kept. In a container as well: it goes by what libcap-ng remembers of
 * limit_capabilities() and set_effective(), as the library would read a container's /proc.
 */
void drop_capabilities(const std::vector<unsigned> &dropped);

/**
 * Takes a capability out of the effective set, or puts it back, where limit_capabilities() has kept it. The others stay
 * as they are: some are not effective while setfsuid(2) has this process act as a user that is not root. Only before
 * entering a container.
 */
void set_effective(unsigned capability, bool effective);

/** @throws Error (BrokenHost) that names each of `needed` that is not effective, and `purpose` */
void require_capabilities(const std::vector<unsigned> &needed, const char *purpose);

/** Allows as many open files as the hard limit does; a tree of 1,000 directories needs 1,000 descriptors. */
void raise_open_files_limit();

} // namespace ogh
