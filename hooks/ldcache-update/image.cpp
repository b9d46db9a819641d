// SPDX-License-Identifier: Apache-2.0
#include "image.h"

#include "c_library.h"
#include "injected_folder.h"
#include "listed_folders.h"

namespace ogh::ldcache_update {

namespace {

constexpr size_t max_cache_size = size_t{16} << 20U;
constexpr size_t max_text_size = size_t{1} << 20U;

/** musl names its path file after the machine, as its loader (musl, ldso/dynlink.c). */
std::vector<MuslPath> read_musl_paths(EnteredContainer &container)
{
    std::vector<MuslPath> paths;
    for (const std::string &machine : musl_machines(container.root())) {
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
    image.has_glibc = has_glibc(container.root());
    if (image.has_glibc) {
        image.cache = read_image_file(container, cache_path, max_cache_size);
        image.conf = read_image_file(container, conf_path, max_text_size);
        image.own_conf = read_image_file(container, own_conf_path, max_text_size);
    }
    image.musl = read_musl_paths(container);
    return image;
}

} // namespace ogh::ldcache_update
