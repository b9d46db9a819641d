// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
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
 * @param without one of those that stay
 */
std::vector<std::string> policy_options(const std::vector<std::string> &options,
                                        std::string_view without = "");

/** In what options of a hook's let more be asked for than others do, each as it is written: "--max-devices 1". */
struct Widening {
    std::vector<std::string> gone; ///< limits of those before that those now do not have, nor narrower ones
    std::vector<std::string> come; ///< what lets more containers ask, or gives them more, and was not there
};

/** @param before words behind the name of the hook; what no hook takes is passed over */
Widening widening_of(const std::vector<std::string> &before, const std::vector<std::string> &now);

/** Whether the file has to be called for containers without an annotation of ours: "when": {"always": true}. */
bool needs_every_container(const HookFile &file);

} // namespace ogh::admin
