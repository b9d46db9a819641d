// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "host/sysroot.h"

namespace ogh {

/**
 * Whether systemd starts a unit by itself: another unit wants or requires it, by a link in one of the directories of
 * systemd.unit(5), and it is not masked.
 * @param unit with its suffix
 * @throws Error (BrokenHost) if such a directory cannot be read
 */
bool is_enabled_unit(const Sysroot &sysroot, const std::string &unit);

} // namespace ogh
