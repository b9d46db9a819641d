// SPDX-License-Identifier: Apache-2.0
#include "kernel/cancellation.h"

#include "kernel/end_signals.h"

namespace ogh {

void Cancellation::check(const std::string &at) const
{
    check_end_signals(at);
    if (limit_ != nullptr && limit_->is_over())
        throw Cancelled(limit_->gave_up() + " while " + at, ErrorKind::TimedOut);
}

} // namespace ogh
