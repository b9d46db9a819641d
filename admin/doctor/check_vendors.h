// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "engines/engine.h"
#include "report/finding.h"

namespace ogh::admin {

/** Runtimes that an engine's configuration names. */
struct Runtimes {
    struct Named {
        std::string name;
        std::string executable;
    };
    std::vector<Named> named;
    std::string by_default; ///< the name, or path, of the one that containers get; "" if nothing says so
};

Runtimes runtimes_of_docker(const nlohmann::json &daemon_json);
Runtimes runtimes_of_containerd(const nlohmann::json &config_toml);
Runtimes runtimes_of_podman(const nlohmann::json &containers_conf);

/** Those that are a vendor's: who gets GPUs by them. @param file that names them */
Findings check_runtimes(const Runtimes &runtimes, const std::string &file);

/** Vendors' hooks in the folders that the engine reads, and vendors' runtimes below it. */
Findings check_vendors(const Engine &engine);

/** A unit of systemd that makes a vendor's CDI specification anew. */
Findings check_vendor_units(const Sysroot &sysroot);

} // namespace ogh::admin
