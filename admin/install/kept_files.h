// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "host/sysroot.h"
#include "install/root_files.h"
#include "registration/manifest.h"

namespace ogh::admin {

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

// What calls the hooks must not be there when they are not: podman and CRI-O leave such a file out without a word, and
// so would use one without a policy, a worker of Concourse creates no container, no engine gives a device of CDI. A
// name that nothing reads is not enough, as a worker reads each file of its directory. So all of it moves to
// kept_directory when the hooks are removed, and back when they are installed again.

// What these change is on the undo log of the files, until RootFiles::keep().

/**
 * Takes out of effect what `install` has written and what else calls hooks of this collection: files of hooks and CDI
 * specifications, the package's own files too.
 * @param dry_run says what would be done, and does nothing
 * @return a line for each thing that a person should know
 * @throws Error
 */
std::vector<std::string> take_out_of_effect(const std::shared_ptr<const Sysroot> &sysroot, RootFiles &root,
                                            bool dry_run = false);

/** What became of files that were kept. */
struct KeptFiles {
    std::vector<std::string> paths; ///< where they lay
    std::vector<std::string> said;  ///< a line for each thing that a person should know

    /** Once it is sure that they are not taken back. */
    void remove_empty_directories(const RootFiles &root) const;
};

/**
 * Puts back what take_out_of_effect() has moved, in the opposite order. What somebody has changed stays where it is kept,
 * and so does what has something else in its place by now.
 */
KeptFiles put_back(RootFiles &root);

/** Removes what is kept. */
KeptFiles remove_kept(RootFiles &root, bool dry_run);

} // namespace ogh::admin
