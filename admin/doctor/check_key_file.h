// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "host/sysroot.h"
#include "registration/hook_file.h"
#include "report/finding.h"

namespace ogh::admin {

/**
 * What is wrong with the key file of a file that calls one of our hooks: without it the hook refuses whoever asks by the
 * environment. Nothing if it is right, or none is named.
 * @param sysroot as the hook sees it
 */
std::optional<Finding> check_key_file(const Sysroot &sysroot, const HookFile &file);

} // namespace ogh::admin
