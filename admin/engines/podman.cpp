// SPDX-License-Identifier: Apache-2.0
#include "engines/podman.h"

#include "engines/hooks_dir.h"
#include "engines/programs.h"

namespace ogh::admin {

namespace {

// containers.conf(5): the vendor's, the host's, then the host's drop-ins, each over the one before.
const std::vector<std::string> configuration_files{"/usr/share/containers/containers.conf",
                                                   "/etc/containers/containers.conf"};
constexpr const char *drop_in_folder = "/etc/containers/containers.conf.d";
constexpr const char *drop_in_suffix = ".conf";

} // namespace

std::vector<std::string> podman_configuration(const Sysroot &sysroot)
{
    std::vector<std::string> files = configuration_files;
    for (std::string &path : drop_ins(sysroot, drop_in_folder, drop_in_suffix))
        files.push_back(std::move(path));
    return files;
}

std::optional<Engine> find_podman(const std::shared_ptr<const Sysroot> &sysroot)
{
    if (!find_program(*sysroot, "podman"))
        return std::nullopt;
    Engine engine;
    engine.name = engine.title = "podman";
    engine.sysroot = engine.host = sysroot;
    engine.remedy = "have in /etc/containers/containers.conf, below [engine]: hooks_dir = "
                    R"(["/usr/share/containers/oci/hooks.d", "/etc/containers/oci/hooks.d"])";
    // DefaultDir of pkg/hooks in containers/common.
    read_hooks_dir(engine, {"engine",
                            configuration_files,
                            drop_in_folder,
                            drop_in_suffix,
                            {"/usr/share/containers/oci/hooks.d"}});
    read_folders(engine);
    return engine;
}

} // namespace ogh::admin
