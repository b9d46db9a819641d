// SPDX-License-Identifier: Apache-2.0
#include "base/exit_status.h"

namespace ogh {

ExitStatus exit_status(ErrorKind kind)
{
    switch (kind) {
    case ErrorKind::None:
        return ExitStatus::Success;
    case ErrorKind::Usage:
        return ExitStatus::Usage;
    case ErrorKind::NotAvailable:
        return ExitStatus::NotAvailable;
    case ErrorKind::Busy:
        return ExitStatus::Busy;
    case ErrorKind::Denied:
        return ExitStatus::Denied;
    case ErrorKind::BrokenHost:
        return ExitStatus::BrokenHost;
    case ErrorKind::Failure:
    case ErrorKind::TimedOut:
    case ErrorKind::HostileContainer:
        break;
    }
    return ExitStatus::Failure;
}

ErrorKind kind_of_status(int status)
{
    for (const ErrorKind kind : {ErrorKind::None, ErrorKind::Usage, ErrorKind::NotAvailable, ErrorKind::Busy,
                                 ErrorKind::Denied, ErrorKind::BrokenHost}) {
        if (static_cast<int>(exit_status(kind)) == status)
            return kind;
    }
    return ErrorKind::Failure;
}

} // namespace ogh
