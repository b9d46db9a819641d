// SPDX-License-Identifier: Apache-2.0
#include "image.h"

#include <algorithm>
#include <array>

#include "injected_folder.h"
#include "listed_folders.h"

namespace ogh::ldcache_update {

namespace {

constexpr size_t max_cache_size = size_t{16} << 20U;
constexpr size_t max_text_size = size_t{1} << 20U;

/** Where programs for Linux name their interpreter (the ABI supplement of each machine), so no image moves it. */
constexpr std::array<const char *, 8> glibc_loaders{
    "/lib64/ld-linux-x86-64.so.2", "/lib/ld-linux-aarch64.so.1",    "/lib64/ld64.so.2",
    "/lib/ld-linux.so.2",          "/libx32/ld-linux-x32.so.2",     "/lib/ld-linux-armhf.so.3",
    "/lib/ld-linux.so.3",          "/lib/ld-linux-aarch64_be.so.1",
};

/** musl calls its loader /lib/ld-musl-MACHINE.so.1 and its path file after it (musl, ldso/dynlink.c). */
constexpr std::array<const char *, 5> musl_machines{"x86_64", "aarch64", "i386", "armhf", "powerpc64le"};

bool has_plain_file(const EnteredContainer &container, const std::string &path)
{
    const auto found = container.root().find(path);
    return found && Inode::of(found->get(), path).is(Kind::File);
}

std::vector<MuslPath> read_musl_paths(EnteredContainer &container)
{
    std::vector<MuslPath> paths;
    for (const std::string machine : musl_machines) {
        if (!has_plain_file(container, "/lib/ld-musl-" + machine + ".so.1"))
            continue;
        const std::string path = "/etc/ld-musl-" + machine + ".path";
        paths.push_back({path, read_image_file(container, path, max_text_size)});
    }
    return paths;
}

} // namespace

Image read_image(EnteredContainer &container, const LibraryRequest &request, Notes &notes)
{
    Image image;
    if (request.automatic)
        image.folders = listed_folders(container, notes);
    image.folders.insert(image.folders.end(), request.folders.begin(), request.folders.end());
    image.folders = without_repeats(image.folders);
    for (const std::string &folder : image.folders) {
        for (AddedLibrary &library : read_injected_folder(container, folder, notes))
            image.libraries.push_back(std::move(library));
    }
    if (image.folders.empty())
        return image;
    image.has_glibc = std::any_of(glibc_loaders.begin(), glibc_loaders.end(),
                                  [&](const char *loader) { return has_plain_file(container, loader); });
    if (image.has_glibc) {
        image.cache = read_image_file(container, cache_path, max_cache_size);
        image.conf = read_image_file(container, conf_path, max_text_size);
        image.own_conf = read_image_file(container, own_conf_path, max_text_size);
    }
    image.musl = read_musl_paths(container);
    return image;
}

} // namespace ogh::ldcache_update
