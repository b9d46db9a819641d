// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "engines/programs.h"
#include "registration/hooks.h"

namespace ogh::admin {

/**
 * The executable of a hook that belongs to this command: where the package was installed, or, if this command is run from
 * the folder that it was built in, in that folder. No hook of another place is ever run, whatever files name it.
 * @throws Error (BrokenHost) if it is not there, or others than root and the user of this process may change it
 */
Program open_own_hook(const OurHook &hook);

} // namespace ogh::admin
