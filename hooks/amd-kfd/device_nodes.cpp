// SPDX-License-Identifier: Apache-2.0
#include "amd-kfd/device_nodes.h"

#include "amd-kfd/drm_class.h"
#include "base/error.h"

namespace ogh::amd_kfd {

namespace {

DrmNodes read_drm(const Gpu &gpu, DrmClass &drm)
{
    const unsigned render_minor =
        gpu.kfd.render_minor.value(); // without one there is a problem, and no choice
    DrmNodes nodes{gpu.card ? gpu.card : drm.card(render_minor, gpu.device), drm.render(render_minor)};
    if (!nodes.render)
        throw Error(ErrorKind::BrokenHost, "the host has no " + render_name(gpu) + " any more");
    return nodes;
}

} // namespace

DeviceNodes read_device_nodes(const Sysroot &sysroot, const Inventory &inventory,
                              const std::vector<size_t> &gpus)
{
    DeviceNodes nodes;
    if (gpus.empty())
        return nodes;
    DrmClass drm(sysroot);
    for (const size_t gpu : gpus)
        nodes[gpu] = read_drm(inventory.gpus[gpu], drm);
    return nodes;
}

} // namespace ogh::amd_kfd
