// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "install/host_writer.h"
#include "install/install_plan.h"

namespace ogh::admin {

/** What becomes of a file that is planned. */
enum class Fate {
    Same,  ///< it has its text already
    Write, ///< it is not there, or is as it was written before
    Theirs ///< somebody has changed it, or made it: it stays
};

struct Change {
    PlannedFile planned;
    Fate fate;
};

/**
 * What is to be done for a plan. Where a file is somebody's, nothing is: that alone is in the list, and for each a file
 * beside it (".new") that says what it would be.
 * @throws Error (BrokenHost) where such a file is in the way
 */
std::vector<Change> changes_for(const std::vector<PlannedFile> &files, const Manifest &manifest,
                                const HostWriter &writer);

/** Whether anything is to be written, be it the manifest alone: for one more engine, or after an interrupted run. */
bool has_changes(const std::vector<Change> &changes, const Manifest &manifest);

/**
 * Writes the files, in their order, and the manifest before and after them: at no time is there a file that it does not
 * know.
 * @param check called when all is there: where it throws, everything is as before
 */
void carry_out(const std::vector<Change> &changes, Manifest manifest, HostWriter &writer,
               const std::function<void()> &check);

/** Writes the manifest, or removes it where it is empty. */
void store(const Manifest &manifest, HostWriter &writer);

} // namespace ogh::admin
