// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "oci/config.h"
#include "request/selectors.h"

namespace ogh {

// What `env` stands for: the selection that a container's environment makes for the vendors' own tools. These variables
// alone never opt a container in. Items that no vendor's grammar has but selectors do (a range or `any:N` in NVIDIA's, a
// name in AMD's) mean what they mean there, `env` is refused, and `any:N` in AMD's. Where AMD's toolkit ignores an item that it
// cannot understand, these are errors: a container must not start without the GPU that it asked for.

/** What the list `0,1,…,N-1` means, which docker makes of `--gpus N`: countToDevices() in its daemon. */
enum class CountMeans : std::uint8_t {
    First, ///< these N, as with NVIDIA's own tools
    Any,   ///< any N
};

/**
 * NVIDIA_VISIBLE_DEVICES, as nvidia-container-toolkit understands it: empty items are dropped, `void` anywhere means no
 * GPU container, in a mixed list the first `all` or `none` decides, and a CUDA image from before NVIDIA_REQUIRE_CUDA
 * asks for `all` by having no such variable.
 *
 * @return nothing if the variables ask for nothing
 * @throws Error (Usage)
 */
std::optional<Selectors> nvidia_visible_devices(const Config &config,
                                                CountMeans count_means = CountMeans::First);

/** NVIDIA's toolkit's rule for images that were made before NVIDIA_REQUIRE_CUDA was: they ask for all there is. */
bool is_legacy_cuda_image(const Config &config);

/**
 * AMD_VISIBLE_DEVICES and the variables that begin with DOCKER_RESOURCE_, of which the last in the environment counts,
 * as in amd-container-toolkit: `all` in any usual case and alone; indices and ranges; unique ids as `0x…` or, with more
 * than eight digits, without `0x`. `none` and `void` mean what they say, alone.
 * @return nothing if the variables ask for nothing
 * @throws Error (Usage)
 */
std::optional<Selectors> amd_visible_devices(const Config &config);

} // namespace ogh
