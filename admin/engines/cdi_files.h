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
    std::string version;
    std::string kind; ///< "nvidia.com/gpu"
    std::vector<std::string> devices;
    std::vector<HookFile> hooks; ///< each with the one stage at which it is called

    [[nodiscard]] bool is_ours() const; ///< it calls a hook of this collection
};

/** The folders that engines read if nothing else says so; the later wins. */
inline const std::vector<std::string> default_cdi_folders{"/etc/cdi", "/var/run/cdi"};

/** @param path as engines name it; the text is JSON or YAML by that name */
CdiSpec parse_cdi_file(const std::string &path, const std::string &text);

/** What is in the folders, in the order in which engines read it; each folder once, by whatever name. */
std::vector<CdiSpec> read_cdi_files(const Sysroot &sysroot, const std::vector<std::string> &folders);

} // namespace ogh::admin
