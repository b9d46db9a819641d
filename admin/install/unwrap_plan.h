// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "host/sysroot.h"

namespace ogh::admin {

/** A place where a wrapper stands, and which runc is put back there. */
struct Restoration {
    std::string path;   ///< without a symlink on the way
    std::string found;  ///< what is there now: "is a symlink to '/opt/bin/runc-wrapper'"
    std::string source; ///< where runc was moved to
    std::string kept;   ///< the second name that a script in this place gets first; "" where there is none
};

/** What is to be done about wrappers of runc on a host. */
struct UnwrapPlan {
    std::vector<Restoration> restorations;
    std::vector<std::string> copies;  ///< of runc, where wrappers have it: they are left
    std::vector<std::string> refused; ///< sentences: what is wrapped, and why nothing is put back there
};

/**
 * Looks where recipes for wrappers of runc put it. What is not certain is refused and not guessed: a runc is a program
 * that only root may change, is no symlink and no vendor's runtime, and all that it could be are the same.
 * @throws Error if something cannot be looked at
 */
UnwrapPlan plan_unwrap(const Sysroot &sysroot);

} // namespace ogh::admin
