// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace ogh::admin {

/** What a container would get by these annotations; see CommandFunction. */
int plan(int argc, const char *const *argv);

} // namespace ogh::admin
