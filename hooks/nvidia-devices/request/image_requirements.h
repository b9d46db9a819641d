// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/log.h"
#include "oci/config.h"
#include "request/selectors.h"

namespace ogh::nvidia_devices {

// The language of NVIDIA_REQUIRE_*: "cuda>=12.1 brand=tesla,driver>=550,driver<551". Blanks separate alternatives, of which
// one has to hold; commas join terms, all of which have to. Only what /proc and the driver's version tell is looked at: no
// GPU is opened and no library loaded for it.

/** How sure it is that a requirement is met; of alternatives the greatest counts, of joined terms the least. */
enum class Answer {
    No,
    NotKnown, ///< it depends on what is not looked at here, or cannot be understood
    IfBrand,  ///< on nothing but the GPU's brand, of which images name all there are
    Yes,
};

/**
 * Whether the host's driver is what `requirement` says. Pure.
 * @param driver its version, "555.42.07"; "" if that is not known
 */
Answer is_met(std::string_view requirement, const std::string &driver);

/**
 * What a container's environment requires of the host, as NVIDIA's toolkit understands it: each variable that begins with
 * NVIDIA_REQUIRE_ (but for NVIDIA_REQUIRE_JETPACK, which names files), and a CUDA image from before NVIDIA_REQUIRE_CUDA
 * requires the CUDA of its CUDA_VERSION. NVIDIA_DISABLE_REQUIRE takes all of them back.
 */
std::vector<RequestValue> requirements_of(const Config &config);

/**
 * Only what is certainly not met stops a container.
 * @param notes what cannot be told
 * @throws Error (NotAvailable) that says what the host has instead
 */
void check_requirements(const std::vector<RequestValue> &requirements, const std::string &driver,
                        Notes &notes);

} // namespace ogh::nvidia_devices
