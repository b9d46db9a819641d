// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "registration/hook_file.h"

namespace ogh::admin {

/**
 * What the args of one of our hooks mean, for people: who may ask, and what limits them. "whoever sets annotations; no
 * limit", "nobody: the host asks for every container ('any:1'); at most 1 GPU, exclusive".
 */
std::string policy_words(const HookFile &file);

/**
 * The options of a hook without who may ask and what the host asks for: where somebody else asks, what takes the place of
 * that. What limits a request, --only too, stays.
 */
std::vector<std::string> policy_options(const std::vector<std::string> &options);

/** Whether the file has to be called for containers without an annotation of ours: "when": {"always": true}. */
bool needs_every_container(const HookFile &file);

} // namespace ogh::admin
