// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "install/root_files.h"
#include "registration/manifest.h"

namespace ogh::admin {

/** What lies there now: of a part, what stands between its two lines, see marked(). @throws Error (BrokenHost) */
PresentFile look_at(const RootFiles &root, const InstalledFile &file);

/** Whether it is as it was written. */
bool is_as_written(const InstalledFile &file, const PresentFile &present);

/** Puts a part of a file there, as marked() gives it, or takes it away: "". The rest stays, and so does the mode. */
void write_part(RootFiles &root, const InstalledFile &file, const std::string &text);

/** Takes the file away, or the part. */
void remove_written(RootFiles &root, const InstalledFile &file);

/** Writes the list, or removes it where it is empty. @throws Error */
void store(RootFiles &root, const Manifest &manifest);

} // namespace ogh::admin
