// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "base/log.h"
#include "base/unique_fd.h"
#include "systemd/dbus_message.h"

namespace ogh {

/** Where systemd, as process 1, talks D-Bus to root without a bus daemon: src/core/dbus.c, bus_init_private(). */
constexpr const char *manager_socket = "/run/systemd/private";

/** For all that is said on one connection: a container waits for it. */
constexpr std::chrono::milliseconds manager_time{1000};

/**
 * A connection to systemd as the manager of this host's units. Nothing that happens on it takes longer than its time,
 * which begins with the first call.
 */
class ManagerConnection final {
public:
    /**
     * Connects to process 1 of this process's pid namespace. Call it on the host.
     * @param notes gets why there is no connection
     * @return nothing if no systemd is there, it is not for this process, or whoever listens is not process 1 of root
     */
    static std::optional<ManagerConnection> open(Notes &notes);

    /** @param socket connected, to whomever */
    explicit ManagerConnection(UniqueFd socket, std::chrono::milliseconds time = manager_time);

    /**
     * Makes the call, and waits for what it returns. What else comes in, such as signals, is skipped.
     * @throws Error if it fails, the time is over, or what comes in is no D-Bus
     */
    dbus::Message call(const dbus::MethodCall &call);

private:
    void authenticate();
    void send(std::string_view bytes);
    void receive();
    void wait(short events);
    std::string take_line();
    dbus::Message take_message();

    UniqueFd socket_;
    std::chrono::milliseconds time_;
    std::optional<std::chrono::steady_clock::time_point> end_;
    std::string received_; ///< and not taken yet
    std::uint32_t last_serial_ = 0;
};

} // namespace ogh
