// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/log.h"
#include "base/unique_fd.h"
#include "image/image_reader.h"

namespace ogh {

/**
 * Opens a plain file of an image, or what a link leads to in the root if that is one; nothing else is ever opened.
 * @return nothing if there is none, or it may not be read
 */
std::optional<UniqueFd> open_image_file(const ImageReader &reader, const std::string &path);

/** What a libcuda for forward compatibility says of itself, in the words of NVIDIA's toolkit (cuda-elf-header.go). */
struct CompatNote {
    std::vector<unsigned> drivers; ///< "Driver": the major versions of drivers that it works with
    std::string cuda;              ///< "CUDA Version": "12.9"; "" if it does not say

    bool operator==(const CompatNote &) const = default;
};

/**
 * Reads it: the JSON in the note of its section `.note.cuda.fwd_compatibility`, whose owner is "NVIDIA Corporation". It
 * is read with pread(2), never more than 128 KiB in all.
 * @param fd of the library, hostile; not O_PATH
 * @return nothing if it is no 64-bit library, has no such note, or one that cannot be understood or has neither member
 */
std::optional<CompatNote> read_compat_note(int fd);

/** Where CUDA images carry a newer user-space driver for older kernel modules. */
constexpr const char *cuda_compat_directory = "/usr/local/cuda/compat";

/** The libraries for forward compatibility that an image carries; all of it is the image's word. */
struct CudaCompat {
    struct Library {
        std::string
            soname; ///< "libcuda.so.1" of a file "libcuda.so.575.51.03"; it always goes with its file's name
        std::string file; ///< its name in the directory

        bool operator==(const Library &) const = default;
    };

    std::string
        version; ///< "575.51.03", of the one libcuda.so.VERSION in the directory; two or three numbers
    /** The major versions of drivers that it says it works with; nothing if it does not say. */
    std::optional<std::vector<unsigned>> drivers;
    std::vector<Library> libraries; ///< those of that version, for 64-bit programs; no SONAME twice
    std::string cuda = {};          ///< the version of CUDA that it says it is for; "" if it does not say

    bool operator==(const CudaCompat &) const = default;
};

/**
 * Looks at what the image has; nothing of it is executed or mounted.
 * @param path of the directory in the container
 * @return nothing if there is no such directory, or not exactly one libcuda in it, or it cannot be understood, which a
 *         note says
 */
std::optional<CudaCompat> read_cuda_compat(const ImageReader &reader, Notes &notes,
                                           const std::string &path = cuda_compat_directory);

/**
 * Whether the image's libraries are to be used instead of the host's: if they say that they work with the host's major
 * version and are newer than it, or, where they say nothing, if their major version is higher. Pure.
 * @param version of the host's driver; if it cannot be understood, they are not
 */
bool is_preferred(const CudaCompat &compat, const std::string &version);

/**
 * The same where the host is known by the version of CUDA that its driver is for, as on Tegra: if they say that theirs
 * is newer. Pure.
 * @param version "12.2"; if it cannot be understood, they are not
 */
bool has_newer_cuda(const CudaCompat &compat, const std::string &version);

} // namespace ogh
