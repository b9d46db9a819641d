// SPDX-License-Identifier: Apache-2.0
#include "ldcache-update/image.h"

#include <utility>

#include "base/text.h"
#include "image/c_library.h"
#include "ldcache-update/listed_folders.h"
#include "libraries/injected_folders.h"

namespace ogh::ldcache_update {

LoaderImage read_image(ContainerView &view, const LibraryRequest &request, Notes &notes)
{
    std::vector<std::string> listed;
    if (request.automatic)
        listed = listed_folders(view, notes);
    std::vector<std::string> folders = listed;
    folders.insert(folders.end(), request.folders.begin(), request.folders.end());
    folders = without_repeats(folders);
    if (folders.empty())
        return {};
    std::vector<AddedLibrary> libraries;
    bool glibc = false;
    std::vector<std::string> machines;
    { // One reader at a time: this one sees what the container's process may see.
        const ImageReader reader = view.reader(ReadAs::Process);
        libraries = read_injected_folders(reader, {folders, request.folders, listed}, notes);
        glibc = has_glibc(reader);
        machines = musl_machines(reader);
    }
    LoaderImage image = read_loader_image(view, glibc, machines);
    image.folders = std::move(folders);
    image.libraries = std::move(libraries);
    return image;
}

} // namespace ogh::ldcache_update
