// SPDX-License-Identifier: Apache-2.0
#include "image/c_library.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
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

/** What cannot be found (a link that leads to itself, a file for a directory) runs no program: the image lacks it. */
std::optional<UniqueFd> find(const ImageReader &image, const std::string &path, Kind kind)
{
    try {
        auto found = image.find(path);
        return found && Inode::of(found->get(), path).is(kind) ? std::move(found) : std::nullopt;
    } catch (const SystemError &error) {
        if (error.kind() != ErrorKind::Failure)
            throw;
        return std::nullopt;
    }
}

/**
 * glibc's loader has the path of its cache as a text in it: that for which it was built. gcompat's, which starts musl's in
 * its place, and musl's own under glibc's name go by musl's file, and name musl's loader or that file.
 */
bool goes_by_known_file(const ImageReader &image, int loader, const std::string &path)
{
    using namespace std::string_view_literals;
    constexpr size_t max_loader_size = size_t{4} << 20U; // one with all symbols has 1.2 MB
    const std::string what = quote(path) + " in the container";
    try {
        const Inode inode = Inode::of(loader, what);
        const std::string text =
            read_all(image.open(loader, inode, what).get(), max_loader_size, what, inode.size);
        return text.find("\0/etc/ld.so.cache\0"sv) != std::string::npos ||
               text.find("/ld-musl-"sv) != std::string::npos;
    } catch (const Error &error) {
        if (error.kind() != ErrorKind::Failure && error.kind() != ErrorKind::HostileContainer)
            throw;
        return true; // it may be run and not be read: nothing is said without knowing
    }
}

} // namespace

bool has_loader(const ImageReader &image, const std::string &path)
{
    return find(image, path, Kind::File).has_value();
}

bool has_glibc(const ImageReader &image)
{
    return std::any_of(glibc_loaders.begin(), glibc_loaders.end(),
                       [&](const char *loader) { return has_loader(image, loader); });
}

std::vector<std::string> places_without_cache(const ImageReader &image)
{
    std::vector<std::string> places;
    for (const std::string loader : glibc_loaders) {
        const auto found = find(image, loader, Kind::File);
        if (found && !goes_by_known_file(image, found->get(), loader))
            places.push_back(loader);
    }
    for (const std::string store : {"/nix/store", "/gnu/store"}) {
        if (find(image, store, Kind::Directory))
            places.push_back(store);
    }
    return places;
}

std::vector<std::string> musl_machines(const ImageReader &image)
{
    std::vector<std::string> machines;
    for (const std::string machine : machines_of_musl) {
        if (has_loader(image, "/lib/ld-musl-" + machine + ".so.1"))
            machines.push_back(machine);
    }
    return machines;
}

} // namespace ogh
