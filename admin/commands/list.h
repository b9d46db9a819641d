// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace ogh::admin {

// What the installed hooks say of this host, each with the policy with which engines call it; see CommandFunction.

int list(int argc, const char *const *argv);
int tags(int argc, const char *const *argv);
int status(int argc, const char *const *argv);

} // namespace ogh::admin
