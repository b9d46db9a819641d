// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "host/sysroot.h"
#include "registration/hook_folders.h"
#include "report/finding.h"

namespace ogh::admin {

/** A container engine of this host, and which of our files it uses. */
struct Engine {
    std::string name;  ///< "podman"
    std::string title; ///< how it is called in what people read: "podman", "concourse worker (pid 812)"
    std::string folders_from; ///< what says which folders it reads: "its default", "hooks_dir of '/etc/…'"
    std::string folders_file; ///< the file that says it; "" for a default
    std::string remedy;       ///< how it is made to read another folder
    FolderRules rules = FolderRules::HooksD;
    std::vector<std::string> folder_paths;  ///< that it reads, the later one wins
    std::shared_ptr<const Sysroot> sysroot; ///< the files as it sees them
    std::shared_ptr<const Sysroot> host;    ///< this host's own, the same unless it has a root of its own
    std::vector<HookFolder> folders;        ///< of folder_paths, in this order
    Findings findings;                      ///< of its configuration
    bool is_stopped = false;                ///< by its configuration: it starts no container at all
};

/** Whether it is this host, whose processes and programs are those of this process too, and not a folder (--sysroot). */
inline bool is_this_host(const Sysroot &sysroot)
{
    return sysroot.on_host("/") == "/";
}

/** Whether it sees other files than this process. */
inline bool has_own_root(const Engine &engine)
{
    return engine.sysroot != engine.host;
}

/** Reads the folders that folder_paths names. */
void read_folders(Engine &engine);

/** What of its configuration, its folders and the files in force cannot be read, a sentence each that names it. */
std::vector<std::string> unread(const Engine &engine);

} // namespace ogh::admin
