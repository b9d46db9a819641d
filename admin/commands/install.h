// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace ogh::admin {

// Files by which engines call the hooks, and away with them again; see CommandFunction.

int install(int argc, const char *const *argv);
int uninstall(int argc, const char *const *argv);

} // namespace ogh::admin
