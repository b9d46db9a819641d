// SPDX-License-Identifier: Apache-2.0
#include "base/system_log.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <syslog.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <utility>

namespace ogh {

namespace {

constexpr sockaddr_un log_address{AF_UNIX, "/dev/log"};

} // namespace

void SystemLog::connect()
{
    if (std::exchange(has_tried_, true))
        return;
    // Some listen to a stream instead, in which each message ends with a NUL.
    for (const int type : {SOCK_DGRAM, SOCK_STREAM}) {
        socket_.reset();
        socket_ = UniqueFd(::socket(AF_UNIX, type | SOCK_CLOEXEC, 0));
        is_stream_ = type == SOCK_STREAM;
        if (::connect(socket_.get(), reinterpret_cast<const sockaddr *>(&log_address), sizeof(log_address)) ==
            0)
            return;
        if (errno != EPROTOTYPE)
            break;
    }
    socket_.reset();
}

void SystemLog::write(int priority, std::string_view name, std::string_view text)
{
    connect();
    if (!socket_.valid())
        return;
    std::string message = "<" + std::to_string(LOG_DAEMON | priority) + ">";
    message.append(name).append("[" + std::to_string(::getpid()) + "]: ").append(text);
    const size_t size = message.size() + (is_stream_ ? 1 : 0); // with the NUL that ends the string
    [[maybe_unused]] const ssize_t sent = ::send(socket_.get(), message.c_str(), size, MSG_NOSIGNAL);
}

} // namespace ogh
