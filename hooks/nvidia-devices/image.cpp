// SPDX-License-Identifier: Apache-2.0
#include "image.h"

#include "c_library.h"
#include "text.h"

namespace ogh::nvidia_devices {

namespace {

/** Where Debian and its descendants have the libraries of this machine. */
#if defined(__aarch64__)
constexpr const char *triplet_folder = "/usr/lib/aarch64-linux-gnu";
#else
constexpr const char *triplet_folder = "/usr/lib/x86_64-linux-gnu";
#endif

bool has_folder(const ImageReader &reader, const std::string &path)
{
    const auto found = reader.find(path);
    return found && Inode::of(found->get(), quote(path) + " in the container").is(Kind::Directory);
}

} // namespace

Image read_image(const ImageReader &reader, const Config &config, Notes &notes)
{
    Image image;
    image.path = environment_value(config, "PATH").value_or("");
    image.has_only_musl = !has_glibc(reader) && !musl_machines(reader).empty();
    if (image.has_only_musl) // it gets no libraries
        return image;
    if (has_folder(reader, triplet_folder)) {
        image.library_folder = triplet_folder;
        image.xorg_folder = "/usr/lib/xorg";
    }
    image.compat = read_cuda_compat(reader, notes);
    return image;
}

} // namespace ogh::nvidia_devices
