// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "engines/engine.h"
#include "report/finding.h"

namespace ogh::admin {

/** Those that are a vendor's: who gets GPUs by them. */
Findings check_runtimes(const Runtimes &runtimes);

/** Vendors' hooks in the folders that the engine reads, and vendors' runtimes below it. */
Findings check_vendors(const Engine &engine);

/** A unit of systemd that makes a vendor's CDI specification anew. */
Findings check_vendor_units(const Sysroot &sysroot);

} // namespace ogh::admin
