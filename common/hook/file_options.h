// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace ogh {

/**
 * The options that a file gives a hook, sorted by what whoever inspects the file may do with them. A file can be
 * anybody's: of its words only those of the policy may reach a hook that root starts for a look.
 */
struct FileOptions {
    /** Who may ask, and within which limits; no value can be taken for an option. */
    std::vector<std::string> policy;
    std::vector<std::string>
        others; ///< what the hook takes besides: where it looks, and where it writes its log
    /** One of the policy bounds who may ask, or for how much: in a pod an annotation counts only with that. */
    bool has_limit = false;
    bool only_looks = false; ///< it is called to say something, and changes nothing: option_use::look
    std::vector<std::string> problems; ///< what a file cannot have, each in words: "unknown option '--alow'"
};

/** @param words what stands behind the hook's name */
FileOptions sort_options(const std::vector<std::string> &words);

} // namespace ogh
