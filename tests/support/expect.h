// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>

#include "base/error.h"

namespace ogh::test {

/** What a call that must fail has thrown. */
struct Failure {
    ErrorKind kind = ErrorKind::None; ///< Success if nothing was thrown
    std::string message;

    [[nodiscard]] bool says(const std::string &text) const { return message.find(text) != std::string::npos; }
};

inline Failure failure_of(const std::function<void()> &call)
{
    try {
        call();
    } catch (const Error &error) {
        return {error.kind(), error.what()};
    }
    return {};
}

} // namespace ogh::test
