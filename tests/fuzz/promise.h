// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <stdexcept>
#include <string_view>

#include "base/error.h"

namespace ogh::fuzz {

/** A promise was broken; not an ogh::Error, so that no target takes it for a refusal. */
class Broken : public std::logic_error {
    using std::logic_error::logic_error;
};

inline void require(bool kept, const char *promise)
{
    if (!kept)
        throw Broken(promise);
}

/** Valid UTF-8 without control characters (C0, DEL, C1) and format characters; knows nothing of common/text, which it is to judge. */
bool is_one_clean_line(std::string_view text);

bool is_utf8(std::string_view text);

/** What a call has come to: a value, or a refusal with this code. */
template<typename Value> struct Outcome {
    std::optional<Value> value;
    ErrorKind kind = ErrorKind::None;
};

/** Every refusal is one clean line for the log, and a failure. */
inline void check_refusal(const Error &error)
{
    const std::string_view message = error.what();
    require(!message.empty() && is_one_clean_line(message), "an error message is one clean line");
    require(error.kind() != ErrorKind::None, "an error has a kind");
}

/** Whatever is no ogh::Error goes on, up to the fuzzer. */
template<typename Call> auto attempt(const Call &call) -> Outcome<decltype(call())>
{
    try {
        return {call(), ErrorKind::None};
    } catch (const Error &error) {
        check_refusal(error);
        return {std::nullopt, error.kind()};
    }
}

} // namespace ogh::fuzz
