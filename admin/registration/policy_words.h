// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "registration/hook_file.h"

namespace ogh::admin {

/**
 * What the args of one of our hooks mean, for people: who may ask, and what limits them. "whoever sets annotations; no
 * limit", "nobody: the host asks for every container ('any:1'); at most 1 GPU, exclusive".
 */
std::string policy_words(const HookFile &file);

/** Whether the file has to be called for containers without an annotation of ours: "when": {"always": true}. */
bool needs_every_container(const HookFile &file);

} // namespace ogh::admin
