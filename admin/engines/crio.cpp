// SPDX-License-Identifier: Apache-2.0
#include "engines/crio.h"

#include "engines/hooks_dir.h"
#include "engines/programs.h"

namespace ogh::admin {

std::optional<Engine> find_crio(const std::shared_ptr<const Sysroot> &sysroot)
{
    if (!find_program(*sysroot, "crio"))
        return std::nullopt;
    Engine engine;
    engine.name = engine.title = "crio";
    engine.sysroot = engine.host = sysroot;
    engine.remedy = "have in a file of /etc/crio/crio.conf.d, below [crio.runtime]: hooks_dir = "
                    R"(["/usr/share/containers/oci/hooks.d", "/etc/containers/oci/hooks.d"])";
    read_hooks_dir(engine, {"crio.runtime",
                            {"/etc/crio/crio.conf"},
                            "/etc/crio/crio.conf.d",
                            "",
                            {"/usr/share/containers/oci/hooks.d"}});
    read_folders(engine);
    return engine;
}

} // namespace ogh::admin
