// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engines/engine.h"
#include "host/sysroot.h"
#include "install/manifest.h"
#include "registration/hooks.h"

namespace ogh::admin {

/** What is asked of `install`. */
struct InstallRequest {
    const EngineKind *kind = nullptr;
    std::vector<const OurHook *> hooks; ///< those that are named; empty: all
    std::vector<std::string> options;   ///< of each of them; empty: those that they have already
    std::optional<std::string> folder;  ///< in place of EngineKind::own_folder()
    bool defaults_alone = false;        ///< plan_default_annotations(), and no hook
};

/** A file that is to have this text. */
struct PlannedFile {
    InstalledFile file;
    std::string text;
    std::string way; ///< the folder in which it may lie under another name, see HostWriter::write()
};

/** What is to be on the host for an engine. */
struct InstallPlan {
    std::vector<PlannedFile> files; ///< in the order in which they are written
    std::vector<std::string> said;  ///< a line for each thing that a person should know
};

/** A file of a hook, or of an engine's configuration (hook "", no options). */
PlannedFile planned_file(const InstallRequest &request, const std::string &path, std::string text,
                         const std::string &hook, const std::vector<std::string> &options);

/** What planning looks at. */
struct InstallHost {
    std::shared_ptr<const Sysroot> sysroot;
    Manifest manifest;
};

/** The hooks that are named; without a name those whose executable is there. @throws Error (BrokenHost) if there are none */
std::vector<const OurHook *> wanted_hooks(const InstallHost &host, const InstallRequest &request);

/**
 * The options that a hook is to have: those of the request, or those that the file was written with before, so that
 * nothing that is asked without options takes a policy away. Nothing if there are neither.
 */
std::optional<std::vector<std::string>> wanted_options(const InstallHost &host, const InstallRequest &request,
                                                       const std::string &path);

} // namespace ogh::admin
