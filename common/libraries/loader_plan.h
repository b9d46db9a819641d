// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/log.h"
#include "edits/edits.h"
#include "libraries/loader_file.h"

namespace ogh {

/**
 * What makes the loaders of an image find the libraries. Pure. What is right already is not touched, so that a second
 * run changes nothing.
 * @param read_only the container's root will be: the files that its loaders read are mounted over, and no others are
 *        written
 * @param notes what could not be used, and why there is nothing to do
 */
Edits plan_loader_files(const LoaderImage &image, bool read_only, Notes &notes);

/**
 * Whether ldconfig reads our file by an include line of this text of ld.so.conf, whose patterns are as glob(7) has
 * them, relative ones below /etc (ldconfig of glibc, "include").
 */
bool includes_own_conf(std::string_view conf);

} // namespace ogh
