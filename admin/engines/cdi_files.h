// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "host/sysroot.h"
#include "registration/hook_file.h"

namespace ogh::admin {

/** A specification of the Container Device Interface (CDI), as far as it bears on the hooks; SPEC.md of that project. */
struct CdiSpec {
    std::string path;
    std::string problem; ///< why engines pass it over; the rest is empty then
    std::string kind;    ///< "nvidia.com/gpu"
    size_t devices = 0;
    std::vector<HookFile> hooks; ///< as far as executable and args go

    [[nodiscard]] bool is_ours() const; ///< it calls a hook of this collection
};

/** @param path as engines name it; the text is JSON or YAML by that name */
CdiSpec parse_cdi_file(const std::string &path, const std::string &text);

/** What is in the folders that engines read if nothing else says so, in their order; the later wins. */
std::vector<CdiSpec> read_cdi_files(const Sysroot &sysroot);

} // namespace ogh::admin
