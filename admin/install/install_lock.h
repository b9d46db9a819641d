// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/unique_fd.h"

namespace ogh::admin {

/**
 * Takes the lock of 'install', 'uninstall' and 'unwrap', which is let go of by the last copy of the descriptor. It is a
 * file that only root can open: what others can open they can lock, and root would be held up by them.
 * @param folder in which only root can make files
 * @param path of it, for messages
 * @throws Error (Busy) if another process has it; Error (BrokenHost) if others can open the file
 */
UniqueFd take_install_lock(int folder, const std::string &path);

} // namespace ogh::admin
