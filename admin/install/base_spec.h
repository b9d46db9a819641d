// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/dotted_version.h"
#include "host/sysroot.h"

namespace ogh::admin {

/**
 * The spec from which containerd makes those of containers, as `ctr oci spec` prints it, without its limits of resources,
 * which the plugin for CRI takes out where no base spec is named.
 * @param version of containerd; nothing if it is not known
 * @param file in place of that: what it says; nothing for this command's own copy
 * @throws Error (BrokenHost) for a version that this command has no copy for, and for a file that is no spec
 */
nlohmann::ordered_json base_spec(const Sysroot &sysroot, const std::optional<DottedVersion> &version,
                                 const std::optional<std::string> &file);

/**
 * The spec as a text, with these entries of `hooks` for createRuntime, in this order and behind those of others: what it
 * has of this collection is left out.
 */
std::string with_hooks(nlohmann::ordered_json spec, const std::vector<nlohmann::ordered_json> &hooks);

} // namespace ogh::admin
