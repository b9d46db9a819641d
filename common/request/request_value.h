// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>

namespace ogh {

/** What somebody says in a hook's own grammar. */
struct RequestValue {
    std::string value;  ///< never empty
    std::string origin; ///< who says it, for messages: "annotation 'io.oci-gpu-hooks.mount-srv'"

    bool operator==(const RequestValue &) const = default;
};

/** The longest value that is looked at, in bytes. */
constexpr std::size_t max_request_size = 65536;

} // namespace ogh
