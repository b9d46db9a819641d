// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "host/sysroot.h"
#include "install/root_files.h"
#include "registration/hooks.h"
#include "request/key_file.h"

namespace ogh::admin {

/** A key file, and the hooks that are called with it. */
struct KeyPlace {
    std::string path; ///< absolute
    std::vector<std::string> hooks;
};

/** What a new key is good for, besides its name. */
struct NewKey {
    std::string name;
    std::vector<std::string> hooks;
    std::optional<std::string> allow;
    std::optional<unsigned> max_devices;
    std::optional<unsigned> quota;
};

/**
 * The key files that the options of hooks name: of the files by which engines of this host call them, and of those that
 * `install` has written for engines that do not run.
 */
std::vector<KeyPlace> key_places(const std::shared_ptr<const Sysroot> &sysroot);

/**
 * Adds the lines of a key to the file of each of its hooks. Those that take no leases have a line of their own, without the
 * limits to devices.
 * @param files with the lock
 * @throws Error (Usage) if one of the files has that name already, or a value cannot be in a line; (BrokenHost) if a hook
 *         is called with no key file, or as read_key_file()
 */
void add_key(const Sysroot &sysroot, RootFiles &files, const std::vector<KeyPlace> &places, const NewKey &key,
             const std::string &secret);

/** Takes all lines of that name away. @return the files that had one. @throws Error (Usage) if none had, as add_key() */
std::vector<std::string> remove_key(const Sysroot &sysroot, RootFiles &files,
                                    const std::vector<KeyPlace> &places, const std::string &name);

} // namespace ogh::admin
