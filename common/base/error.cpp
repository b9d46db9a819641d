// SPDX-License-Identifier: Apache-2.0
#include "base/error.h"

#include <system_error>

namespace ogh {

Error Error::as(ErrorKind kind, const std::string &context) const
{
    return {kind, context.empty() ? what() : context + ": " + what(), error_number_};
}

SystemError::SystemError(int error_number, const std::string &what, ErrorKind kind)
    : Error(kind, what + ": " + std::generic_category().message(error_number), error_number)
{
}

} // namespace ogh
