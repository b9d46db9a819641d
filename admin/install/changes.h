// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engines/engine.h"
#include "install/root_files.h"
#include "registration/hooks.h"

namespace ogh::admin {

/** What is asked of `install`. */
struct InstallRequest {
    const EngineKind *kind = nullptr;
    std::vector<const OurHook *> hooks;   ///< those that are named; empty: all
    std::vector<std::string> options;     ///< of each of them; empty: those that they have already
    std::optional<std::string> directory; ///< in place of EngineKind::own_directory
    bool defaults_alone = false;          ///< the default annotations, and no hook
    bool gpu_flag = false;                ///< what the engine's flag --gpus calls, and no device
    std::optional<std::string> runtime;   ///< of containerd, that pods name
    std::optional<std::string>
        base_spec; ///< a file: what that runtime's containers start from, but for the hooks
};

/** What planning looks at. */
struct InstallHost {
    std::shared_ptr<const Sysroot> sysroot;
    Manifest manifest;
};

/** A file that is to have this text. */
struct PlannedFile {
    InstalledFile file;
    std::string text;
    std::string aside = ""; ///< the directory in which it may lie under another name, see RootFiles::write()
    mode_t mode = file_mode;
};

/** What is to be on the host for an engine. */
struct InstallPlan {
    std::vector<PlannedFile> files; ///< in the order in which they are written
    std::vector<std::string> said;  ///< a line for each thing that a person should know
};

/** A file of an engine's configuration, or of a hook. */
PlannedFile planned_file(const InstallRequest &request, const std::string &path, std::string text,
                         const std::string &hook = "", const std::vector<std::string> &options = {});

/** The hooks that are named; without a name those whose executable is there. @throws Error (BrokenHost) if there are none */
std::vector<const OurHook *> wanted_hooks(const Sysroot &sysroot, const InstallRequest &request);

/**
 * The options that a hook is to have: those of the request, or those that the file was written with before, so that
 * nothing that is asked without options takes a policy away. Nothing if there are neither.
 */
std::optional<std::vector<std::string>> wanted_options(const InstallHost &host, const InstallRequest &request,
                                                       const std::string &path);

/** What becomes of a file that is planned. */
enum class Fate {
    Same,  ///< it has its text already
    Write, ///< it is not there, or is as it was written before
    Theirs ///< somebody has changed it, or made it: it stays
};

struct Change {
    PlannedFile planned;
    Fate fate;
};

/**
 * What is to be done for a plan. Where a file is somebody's, nothing is: that alone is in the list, and for each a file
 * beside it (".new") that says what it would be.
 * @throws Error (BrokenHost) where such a file is in the way
 */
std::vector<Change> changes_for(const std::vector<PlannedFile> &files, const Manifest &manifest,
                                const RootFiles &root);

/** What `install` has written once they are made: what has its text already was written by it too. */
Manifest manifest_with(const std::vector<Change> &changes, Manifest manifest);

/**
 * Writes the manifest, the files in their order, and the manifest once more: whatever is in effect, uninstall knows it.
 * @param check called when all is there: where it throws, everything is as before
 */
void carry_out(const std::vector<Change> &changes, const Manifest &manifest, RootFiles &root,
               const std::function<void()> &check);

} // namespace ogh::admin
