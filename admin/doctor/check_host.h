// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "host/sysroot.h"
#include "report/finding.h"

namespace ogh::admin {

/** What every engine needs of the host: the kernel. */
Section check_host(const Sysroot &sysroot);

} // namespace ogh::admin
