// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "image/image_reader.h"

namespace ogh {

// Which C library an image has: its programs name their loader by a path that each C library has fixed, so a plain
// file there tells, wherever symlinks on the way lead.

/** Whether the image has a loader at that path. @throws SystemError */
bool has_loader(const ImageReader &image, const std::string &path);

/** Whether the image has a loader of glibc's, for any machine. @throws SystemError */
bool has_glibc(const ImageReader &image);

/**
 * Those of the image whose programs find no library by /etc/ld.so.cache, nor by musl's file: loaders of glibc's that were
 * built for another file or none (Exherbo, Clear Linux, a glibc beside Alpine's musl), and the stores of Nix and Guix,
 * where programs name a loader of their own.
 * @throws SystemError
 */
std::vector<std::string> places_without_cache(const ImageReader &image);

/** The machines that the image has a loader of musl's for, as musl calls them: "x86_64". @throws SystemError */
std::vector<std::string> musl_machines(const ImageReader &image);

} // namespace ogh
