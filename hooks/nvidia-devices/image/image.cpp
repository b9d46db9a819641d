// SPDX-License-Identifier: Apache-2.0
#include "nvidia-devices/image/image.h"

#include "base/text.h"
#include "image/c_library.h"
#include "kernel/inode.h"
#include "nvidia-devices/driver/library_machine.h"
#include "nvidia/image_file.h"

namespace ogh::nvidia_devices {

namespace {

/** Where Debian and its descendants have the libraries of this machine. */
std::string triplet_directory()
{
    return std::string("/usr/lib/") + native_machine().triplet;
}

/** Where distributions have glibc for this machine: those with a directory for each machine, those with lib64, and Arch. */
std::optional<GlibcVersions> read_glibc(const ImageReader &reader)
{
    const std::string triplet = triplet_directory();
    const std::string without_usr = triplet.substr(triplet.find("/lib"));
    for (const std::string &directory :
         {triplet, without_usr, std::string("/usr/lib64"), std::string("/lib64"), std::string("/usr/lib"),
          std::string("/lib")}) {
        const auto file = open_image_file(reader, directory + "/libc.so.6");
        if (file)
            return defined_glibc(file->get());
    }
    return std::nullopt;
}

bool has_directory(const ImageReader &reader, const std::string &path)
{
    const auto found = reader.find(path);
    return found && Inode::of(found->get(), quote(path) + " in the container").is(Kind::Directory);
}

} // namespace

Image read_image(const ImageReader &reader, const Config &config, const std::set<std::string> &interpreters,
                 Notes &notes)
{
    Image image;
    image.path = environment_value(config, "PATH").value_or("");
    const bool has_own_loader = has_loader(reader, native_machine().loader);
    image.is_foreign = !has_own_loader && has_glibc(reader);
    image.has_loader_32 = image.is_foreign && has_loader(reader, compat32_machine().loader);
    image.has_only_musl = !has_own_loader && !image.is_foreign && !musl_machines(reader).empty();
    if (image.has_only_musl) // it gets no libraries
        return image;
    for (const std::string &interpreter : interpreters)
        if (has_own_loader && !open_image_file(reader, interpreter))
            image.lacking_interpreters.insert(interpreter);
    if (has_directory(reader, triplet_directory()))
        image.library_directory = triplet_directory();
    image.glibc = read_glibc(reader);
    image.compat = read_cuda_compat(reader, notes);
    return image;
}

} // namespace ogh::nvidia_devices
