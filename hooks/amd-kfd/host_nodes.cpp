// SPDX-License-Identifier: Apache-2.0
#include "host_nodes.h"

#include <sys/stat.h>

#include "drm_class.h"
#include "text.h"

namespace ogh::amd_kfd {

namespace {

/** Where libdrm looks for it in most images. */
constexpr const char *ids_file = "/usr/share/libdrm/amdgpu.ids";

DrmNodes read_drm(const Gpu &gpu, DrmClass &drm)
{
    const unsigned render_minor =
        gpu.kfd.render_minor.value(); // without one there is a problem, and no choice
    DrmNodes nodes{gpu.card ? gpu.card : drm.card(render_minor, gpu.device), drm.render(render_minor)};
    if (!nodes.render)
        throw Error(ExitCode::Host, "the host has no " + render_name(gpu) + " any more");
    return nodes;
}

/** No container is worth less for want of names, so nothing that goes wrong here is an error. */
std::string find_ids(const Sysroot &sysroot, Notes &notes)
{
    try {
        const auto found = sysroot.find(ids_file);
        struct stat status {};
        if (found && ::fstat(found->fd.get(), &status) == 0 && S_ISREG(status.st_mode))
            return sysroot.on_host(found->path);
    } catch (const Error &error) {
        notes.push_back({LogLevel::Info, error.what()});
    }
    return "";
}

} // namespace

HostNodes read_host_nodes(const Sysroot &sysroot, const Inventory &inventory, const Wanted &wanted,
                          Notes &notes)
{
    HostNodes nodes;
    if (wanted.gpus.empty())
        return nodes;
    DrmClass drm(sysroot);
    nodes.drm.reserve(wanted.gpus.size());
    for (const size_t gpu : wanted.gpus)
        nodes.drm.push_back(read_drm(inventory.gpus[gpu], drm));
    if (wanted.capabilities.npu)
        nodes.npus = read_npus(sysroot);
    nodes.amdgpu_ids = find_ids(sysroot, notes);
    return nodes;
}

} // namespace ogh::amd_kfd
