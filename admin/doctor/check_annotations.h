// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "engines/engine.h"

namespace ogh::admin {

/** Whether an image may ask, by podman's defaults that are in effect after all files; of other engines nothing. */
Findings check_annotations(const Engine &engine);

} // namespace ogh::admin
