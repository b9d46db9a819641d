// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace ogh::admin {

/** Whether engines call the hooks, and what is wrong if not; see CommandFunction. */
int doctor(int argc, const char *const *argv);

} // namespace ogh::admin
