// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "base/unique_fd.h"

namespace ogh {

/**
 * The host's syslog, facility daemon, by the socket /dev/log.
 *
 * Not by syslog(3), which reads /etc/localtime when the first message is written, and connects anew where a message
 * could not be sent: by then this process may be in a container's mount namespace, whose /dev/log is the container's.
 * Messages have no time, and whoever receives them adds it.
 */
class SystemLog final {
public:
    /** Connects now, once and for all, while `/` is the host's. Without anybody who listens write() does nothing. */
    void connect();

    /**
     * Writes one message, `name[PID]: text`; never fails. Connects first where connect() was not called. What cannot be
     * sent is lost.
     * @param priority of syslog(3), LOG_ERR to LOG_DEBUG
     */
    void write(int priority, std::string_view name, std::string_view text);

private:
    UniqueFd socket_;
    bool has_tried_ = false;
    bool is_stream_ = false;
};

} // namespace ogh
