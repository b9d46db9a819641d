// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "base/unique_fd.h"

namespace ogh {

/**
 * The host's syslog, facility daemon, by the socket /dev/log.
 *
 * Not by syslog(3), which reads /etc/localtime when the first message is written: by then this process may be in a
 * container's mount namespace. Messages have no time, and whoever receives them adds it.
 */
class SystemLog final {
public:
    /** Connects now, unless it is connected, while `/` is the host's. Without anybody who listens write() does nothing. */
    void connect();

    /**
     * Writes one message, `name[PID]: text`; never fails. Connects first where that was not done, or where whoever
     * listens was started anew since.
     * @param priority of syslog(3), LOG_ERR to LOG_DEBUG
     */
    void write(int priority, std::string_view name, std::string_view text);

private:
    UniqueFd socket_;
    bool is_stream_ = false;
};

} // namespace ogh
