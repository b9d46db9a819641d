// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "engines/engine.h"

namespace ogh::admin {

/**
 * Which directories the engine reads, which files of ours are in effect there, and what is wrong.
 * @param when_unused how bad it is that it calls none of the hooks
 */
Section check_engine(const Engine &engine, Severity when_unused);

} // namespace ogh::admin
