// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "child.h"

namespace ogh::test {

/** Gives the names of two entries to each other at once; symlinks are not followed. */
void exchange(const std::string &a, const std::string &b);

/** Processes that exchange two names again and again, one a core, as long as this lives. */
class Exchangers final {
public:
    Exchangers(const std::string &a, const std::string &b);
    Exchangers(const Exchangers &) = delete;
    Exchangers &operator=(const Exchangers &) = delete;
    ~Exchangers();

    /** How often it was done up to now. */
    [[nodiscard]] std::uint64_t count() const { return count_->load(); }

private:
    std::atomic<std::uint64_t> *count_; ///< in memory that the processes share
    std::vector<Child> children_;
};

} // namespace ogh::test
