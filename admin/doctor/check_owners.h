// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "engines/engine.h"
#include "report/finding.h"

namespace ogh::admin {

/**
 * The directories that the engine reads, its configuration and the files in effect, this collection's and others', as far as
 * others than root may change them: a registration says what runs as root.
 */
Findings check_owners(const Engine &engine);

} // namespace ogh::admin
