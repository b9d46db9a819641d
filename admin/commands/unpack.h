// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace ogh::admin {

// What the scripts of the archive do, install and uninstall: by this program, as no shell opens a path below a root that
// it does not trust. Not for people; see CommandFunction.

int unpack(int argc, const char *const *argv);
int take_away(int argc, const char *const *argv);

} // namespace ogh::admin
