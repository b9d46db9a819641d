// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "registration/hooks.h"

namespace ogh::admin {

/** What an annotation's key is to the hooks. */
struct KeyMeaning {
    enum class Kind {
        Other,      ///< somebody else's
        Known,      ///< of `hook`
        Unknown,    ///< it has the prefix, and no hook knows it: one that is called fails
        NearlyOurs, ///< somebody seems to have meant a key of this collection, and no hook is called for it
    };
    Kind kind = Kind::Other;
    const OurHook *hook = nullptr;
};

/** @param key with the name of a container behind a slash, or without */
KeyMeaning meaning_of(const std::string &key);

} // namespace ogh::admin
