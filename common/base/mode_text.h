// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <string>

namespace ogh {

/** The permissions of a file as chmod(1) takes them: "0660". */
std::string mode_text(mode_t mode);

} // namespace ogh
