// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "host/sysroot.h"
#include "listing/cdi_spec.h"

namespace ogh {

// A specification may have the kind of the vendor's own tools, so that `--device nvidia.com/gpu=0` calls the hook. Of
// two files with the same device engines take that of the later directory, or, where both are in one, neither.

/** How the vendor's own tools go about CDI. */
struct VendorCdi {
    std::string kind;                       ///< "nvidia.com/gpu"
    std::vector<std::string> refresh_units; ///< of systemd: they write the vendor's specification anew
    std::vector<CdiDevice> devices;         ///< that only this vendor's hook has
};

/**
 * The kind of a specification, JSON or YAML, as far as it can be told without understanding all of YAML.
 * @return nothing if it cannot be told
 */
std::optional<std::string> cdi_kind_of(std::string_view text);

/**
 * Nobody but the hook is to give devices of that kind. A specification that calls the hook may be there: it is the one
 * that is made again.
 * @param hook the name of its executable
 * @throws Error (BrokenHost) that names the specification or the unit, and what to type
 */
void check_stand_in(const Sysroot &sysroot, const VendorCdi &vendor, const std::string &hook);

} // namespace ogh
