// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engines/engine.h"
#include "engines/installed_hooks.h"
#include "report/report.h"

namespace ogh::admin {

// What the doctor looks at. What `install` refuses is what the doctor would find. Nobody is shown a section without findings.

// check_host.cpp

/** What every engine needs of the host: the kernel, and places that are root's. */
Section check_host(const Sysroot &sysroot);

/**
 * What `install` has written on this host and what is not in effect: a file that is gone has taken its policy along, and
 * an engine calls the hook with another one, or not at all. Empty if all of it is there.
 * @param engines of this host
 */
Section check_written(const Sysroot &sysroot, const std::vector<Engine> &engines);

// check_engine.cpp

/**
 * Which directories the engine reads, which files are in effect there, and what is wrong with those of ours: what `install`
 * goes by as well, before it writes anything.
 * @param with_keys looks at key files too; `install` writes a file that waits for its keys
 */
Findings check_calls(const Engine &engine, bool with_keys = false);

/**
 * The same, what is wrong with its configuration, and what gives containers GPUs past the hooks and so past their policy.
 * @param when_unused how bad it is that it calls none of the hooks
 */
Section check_engine(const Engine &engine, Severity when_unused);

/**
 * What a configuration of an engine says, without blanks and without lines that are comments; "" if it is not there.
 * @throws Error (BrokenHost) if it cannot be read, or is larger than 4 MiB
 */
std::string read_settings(const Sysroot &sysroot, const std::string &file);

/** Vendors' runtimes that such settings name. @param file that has them */
Findings check_runtimes(const std::string &settings, const std::string &file);

// check_hook_file.cpp

/**
 * What is wrong with the key file of a file that calls one of our hooks: without it the hook refuses whoever asks by the
 * environment. Nothing if it is right, or none is named.
 * @param sysroot as the hook sees it
 */
std::optional<Finding> check_key_file(const Sysroot &sysroot, const HookFile &file);

/**
 * Whether the executable that a file names is there, can be changed by root alone, is of this version, and can be run on
 * this machine; nothing if all of that is so. It is read, and never run.
 */
Findings check_executable(const Engine &engine, const HookFile &file);

/** A file in effect that calls one of our hooks: its policy in words, and what is wrong with it. */
Findings check_hook_file(const Engine &engine, const HookFile &file);

/**
 * Asks the hook what it thinks of the options of a file that is to be.
 * @throws Error (Usage) with what is wrong with them on whatever host: an option that there is not, a value that is none
 */
void refuse_wrong_options(const Sysroot &host, const HookFile &file);

// check_devices.cpp

/**
 * What the hooks give, as they say themselves: a GPU, or why none; whether what --allow names exists, and whether
 * cdi-devices gives GPUs past the hooks for them; labels of SELinux. Empty if there is nothing to say.
 * @param hooks that may be run
 */
Section check_devices(const Sysroot &sysroot, const std::vector<InstalledHook> &hooks);

// check_cdi.cpp

/**
 * The engines that give what CDI specifications name and read no files of hooks, docker and containerd, as far as they are
 * installed; and the specifications: those that give GPUs past the hooks, and those that call them.
 */
std::vector<Section> check_cdi(const std::shared_ptr<const Sysroot> &sysroot,
                               const std::vector<Engine> &engines);

/** Specifications in the directories that engines read, of which a device calls a hook of this collection. @throws Error */
std::vector<std::string> specs_that_call_hooks(const Sysroot &sysroot);

} // namespace ogh::admin
