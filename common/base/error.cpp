// SPDX-License-Identifier: Apache-2.0
#include "base/error.h"

#include <cstdlib>
#include <exception>
#include <system_error>

#include "build_config.h"

#if OGH_STATIC
/** In place of the C++ library's own, whose message takes a demangler of 47 kB: here all exceptions are caught in main. */
void __gnu_cxx::__verbose_terminate_handler()
{
    std::abort();
}
#endif

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
