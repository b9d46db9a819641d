// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "kernel/time_limit.h"

namespace ogh {

/** Whether a run has to end before it is complete: asked where nothing is half done. */
class Cancellation final {
public:
    /** @param limit outlives this; null: for as long as it takes */
    explicit Cancellation(const TimeLimit *limit = nullptr) : limit_(limit) {}

    /** @param at what is being done, in words that follow "while". @throws Cancelled */
    void check(const std::string &at) const;

private:
    const TimeLimit *limit_;
};

} // namespace ogh
