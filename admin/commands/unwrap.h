// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace ogh::admin {

/** Puts runc back where a wrapper stands in its place; see CommandFunction. */
int unwrap(int argc, const char *const *argv);

} // namespace ogh::admin
