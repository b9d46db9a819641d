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
    /** Connects now, while `/` is the host's. Without anybody who listens write() does nothing. */
    void connect();

    /**
     * Writes one message, `name[PID]: text`; never fails. Whoever listens may have been started anew since, and is
     * connected to once more then.
     * @param priority of syslog(3), LOG_ERR to LOG_DEBUG
     */
    void write(int priority, std::string_view name, std::string_view text);

private:
    UniqueFd socket_;
    bool is_stream_ = false;
};

} // namespace ogh
