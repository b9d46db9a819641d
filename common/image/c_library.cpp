// SPDX-License-Identifier: Apache-2.0
#include "image/c_library.h"

#include <algorithm>
#include <array>

#include "kernel/inode.h"

namespace ogh {

namespace {

/** Where programs for Linux name their interpreter (the ABI supplement of each machine), so no image moves it. */
constexpr std::array<const char *, 8> glibc_loaders{
    "/lib64/ld-linux-x86-64.so.2", "/lib/ld-linux-aarch64.so.1",    "/lib64/ld64.so.2",
    "/lib/ld-linux.so.2",          "/libx32/ld-linux-x32.so.2",     "/lib/ld-linux-armhf.so.3",
    "/lib/ld-linux.so.3",          "/lib/ld-linux-aarch64_be.so.1",
};

/** musl calls its loader /lib/ld-musl-MACHINE.so.1 (musl, ldso/dynlink.c). */
constexpr std::array<const char *, 5> machines_of_musl{"x86_64", "aarch64", "i386", "armhf", "powerpc64le"};

bool has_plain_file(const ImageReader &image, const std::string &path)
{
    const auto found = image.find(path);
    return found && Inode::of(found->get(), path).is(Kind::File);
}

} // namespace

bool has_glibc(const ImageReader &image)
{
    return std::any_of(glibc_loaders.begin(), glibc_loaders.end(),
                       [&](const char *loader) { return has_plain_file(image, loader); });
}

std::vector<std::string> musl_machines(const ImageReader &image)
{
    std::vector<std::string> machines;
    for (const std::string machine : machines_of_musl) {
        if (has_plain_file(image, "/lib/ld-musl-" + machine + ".so.1"))
            machines.push_back(machine);
    }
    return machines;
}

} // namespace ogh
