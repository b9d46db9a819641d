// SPDX-License-Identifier: Apache-2.0
#include "engines/engines.h"

#include "engines/concourse.h"
#include "engines/crio.h"
#include "engines/podman.h"

namespace ogh::admin {

std::vector<Engine> find_engines(const std::shared_ptr<const Sysroot> &sysroot)
{
    std::vector<Engine> engines;
    for (auto *const find : {find_podman, find_crio})
        if (auto engine = find(sysroot))
            engines.push_back(std::move(*engine));
    for (Engine &worker : find_concourse(sysroot))
        engines.push_back(std::move(worker));
    return engines;
}

} // namespace ogh::admin
