// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace ogh::admin {

/** CDI specifications whose devices call the hooks; see CommandFunction. */
int cdi(int argc, const char *const *argv);

} // namespace ogh::admin
