// SPDX-License-Identifier: Apache-2.0
#include "base/exit_status.h"

#include <algorithm>
#include <array>
#include <cstddef>

namespace ogh {

namespace {

/** By ErrorKind. */
constexpr std::array statuses{ExitStatus::Success,      ExitStatus::Failure,    ExitStatus::Usage,
                              ExitStatus::NotAvailable, ExitStatus::Busy,       ExitStatus::Denied,
                              ExitStatus::Failure,      ExitStatus::BrokenHost, ExitStatus::Failure};
static_assert(statuses.size() == static_cast<size_t>(ErrorKind::HostileContainer) + 1);

} // namespace

ExitStatus exit_status(ErrorKind kind)
{
    return statuses.at(static_cast<size_t>(kind));
}

ErrorKind kind_of_status(int status)
{
    const auto *const found = std::find(statuses.begin(), statuses.end(), static_cast<ExitStatus>(status));
    return found == statuses.end() ? ErrorKind::Failure : static_cast<ErrorKind>(found - statuses.begin());
}

} // namespace ogh
