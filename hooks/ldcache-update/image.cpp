// SPDX-License-Identifier: Apache-2.0
#include "ldcache-update/image.h"

#include "image/c_library.h"
#include "ldcache-update/injected_folders.h"
#include "ldcache-update/listed_folders.h"

namespace ogh::ldcache_update {

namespace {

constexpr size_t max_cache_size = size_t{16} << 20U;
constexpr size_t max_text_size = size_t{1} << 20U;

/** musl names its path file after the machine, as its loader (musl, ldso/dynlink.c). */
std::vector<MuslPath> read_musl_paths(ContainerView &view, const std::vector<std::string> &machines)
{
    std::vector<MuslPath> paths;
    for (const std::string &machine : machines) {
        const std::string path = "/etc/ld-musl-" + machine + ".path";
        paths.push_back({path, read_image_file(view, path, max_text_size)});
    }
    return paths;
}

/** What its process may see: the libraries, and which loaders there are. @return the machines of musl's loaders */
std::vector<std::string> read_libraries(ContainerView &view, const InjectedFolders &folders, Image &image,
                                        Notes &notes)
{
    const ImageReader reader = view.reader(ReadAs::Process);
    image.libraries = read_injected_folders(reader, folders, notes);
    image.has_glibc = has_glibc(reader);
    return musl_machines(reader);
}

} // namespace

Image read_image(ContainerView &view, const LibraryRequest &request, Notes &notes)
{
    Image image;
    std::vector<std::string> listed;
    if (request.automatic)
        listed = listed_folders(view, notes);
    image.folders = listed;
    image.folders.insert(image.folders.end(), request.folders.begin(), request.folders.end());
    image.folders = without_repeats(image.folders);
    if (image.folders.empty())
        return image;
    const auto machines = read_libraries(view, {image.folders, request.folders, listed}, image, notes);
    if (image.has_glibc) {
        image.cache = read_image_file(view, cache_path, max_cache_size);
        image.conf = read_image_file(view, conf_path, max_text_size);
        image.own_conf = read_image_file(view, own_conf_path, max_text_size);
    }
    image.musl = read_musl_paths(view, machines);
    return image;
}

} // namespace ogh::ldcache_update
