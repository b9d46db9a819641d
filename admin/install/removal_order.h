// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "host/sysroot.h"
#include "registration/manifest.h"

namespace ogh::admin {

/** A file that says which directories an engine reads. */
bool is_drop_in(const InstalledFile &file);

/** A runtime of containerd's, which does not start where the spec of one is missing. */
bool is_runtime(const InstalledFile &file);

/**
 * Runtimes come first. Then those files by which a hook is called without the host's policy, and those that have it: at no
 * time is a hook called with less of a limit. Directories are named until nothing of them is in effect.
 */
void sort_for_removal(std::vector<InstalledFile> &files);

/** Why a file that sets directories stays although it was to go; "" if it goes. */
std::string why_drop_in_stays(const InstalledFile &file, const Sysroot &sysroot,
                              const std::vector<InstalledFile> &gone);

/** Whether these are the defaults that keep images from asking, and a hook is called by a file that is none of those. */
bool are_needed_defaults(const InstalledFile &file, const Sysroot &sysroot,
                         const std::vector<InstalledFile> &gone);

/** How it is named in what people read. */
std::string shown(const InstalledFile &file);

} // namespace ogh::admin
