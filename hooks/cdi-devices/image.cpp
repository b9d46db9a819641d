// SPDX-License-Identifier: Apache-2.0
#include "cdi-devices/image.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "base/contains.h"
#include "base/dotted_version.h"
#include "base/letters.h"
#include "libraries/injected_directories.h"
#include "nvidia/cuda_compat.h"

namespace ogh::cdi_devices {

namespace {

constexpr size_t max_profile_size = 65536;

/** As NVIDIA's hook decides: a version of CUDA is compared with nothing but what the library says of itself. */
bool are_for(const CudaCompat &compat, const CompatRequest &request)
{
    if (!request.cuda.empty() && !compat.drivers)
        return false;
    return is_driver_version(request.driver) ? is_preferred(compat, request.driver)
                                             : has_newer_cuda(compat, request.cuda);
}

void add_compat(const ImageReader &reader, const CompatRequest &request, Image &image, Notes &notes)
{
    const auto compat = read_cuda_compat(reader, notes, request.directory);
    if (!compat || !are_for(*compat, request) || contains(image.compat_directories, request.directory))
        return;
    for (AddedLibrary &library : read_injected_directories(reader, {{request.directory}, {}}, notes))
        image.compat.push_back(std::move(library));
    image.compat_directories.push_back(request.directory);
}

/** Those that an earlier request has given: what is in /dev is the engine's, and the hooks'. */
std::set<unsigned> read_gpus(const ImageReader &reader, Notes &notes)
try {
    constexpr size_t max_nodes = 1024;
    const std::string what = "'/dev' in the container";
    std::set<unsigned> minors;
    const auto directory = reader.find("/dev");
    if (!directory)
        return minors;
    for (const DirectoryEntry &entry : reader.list(directory->get(), {what, is_gpu_node, max_nodes})) {
        struct stat status {};
        if (::fstatat(directory->get(), entry.name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0 &&
            S_ISCHR(status.st_mode))
            minors.insert(minor(status.st_rdev));
    }
    return minors;
} catch (const Error &error) {
    notes.push_back({LogLevel::Warning,
                     "programs with EGL see only the GPUs of this request: " + std::string(error.what())});
    return {};
}

} // namespace

bool is_gpu_node(std::string_view name)
{
    constexpr std::string_view start = "nvidia";
    return name.starts_with(start) && name.size() > start.size() &&
           std::all_of(name.begin() + start.size(), name.end(), is_digit);
}

bool needs_image(const VendorActions &actions)
{
    return !actions.library_directories.empty() || !actions.compat.empty() || actions.limits_egl;
}

Image read_image(ContainerView &view, const VendorActions &actions, Notes &notes)
{
    Image image;
    { // One reader at a time: this one sees what the container's process may see.
        const ImageReader reader = view.reader(ReadAs::Process);
        for (const CompatRequest &request : actions.compat)
            add_compat(reader, request, image, notes);
        if (actions.limits_egl)
            image.gpus = read_gpus(reader, notes);
    }
    if (!actions.library_directories.empty() || !image.compat.empty())
        image.loader = read_loader_image(view);
    if (actions.limits_egl)
        image.egl_profile = read_loader_file(view, egl_profile_path, max_profile_size);
    return image;
}

} // namespace ogh::cdi_devices
