// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "hook/hook.h"

namespace ogh::mount_srv {

/** One run of the hook: its options, what is asked, what the host has of it, and what becomes of that. */
void run(Hook &hook, int argc, char **argv);

} // namespace ogh::mount_srv
