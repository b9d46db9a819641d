// SPDX-License-Identifier: Apache-2.0
#include "systemd/manager_connection.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <array>
#include <cerrno>
#include <cstdio>

#include "base/error.h"
#include "base/text.h"
#include "kernel/openat2.h"

namespace ogh {

namespace {

constexpr std::size_t longest_line = 16384; ///< of the authentication; D-Bus Specification
constexpr std::size_t chunk = 16384;

/** The socket's name; nothing if there is none. @throws Error */
std::optional<UniqueFd> find_socket()
{
    auto found = find_path(AT_FDCWD, manager_socket, O_PATH, Walk::NoSymlinks, quote(manager_socket));
    if (!found)
        return found;
    struct stat status {};
    if (::fstat(found->get(), &status) != 0)
        throw SystemError(errno, "cannot look at " + quote(manager_socket), ErrorKind::BrokenHost);
    if (!S_ISSOCK(status.st_mode) || status.st_uid != 0)
        throw Error(ErrorKind::BrokenHost, quote(manager_socket) + " is no socket of root's");
    return found;
}

/** @param name O_PATH, which nobody can exchange any more */
UniqueFd connect_to(int name)
{
    UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!socket.valid())
        throw SystemError(errno, "cannot make a socket");
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::snprintf(static_cast<char *>(address.sun_path), sizeof address.sun_path, "/proc/self/fd/%d", name);
    if (::connect(socket.get(), reinterpret_cast<const sockaddr *>(&address), sizeof address) != 0)
        throw SystemError(errno, "cannot connect to " + quote(manager_socket), ErrorKind::BrokenHost);
    return socket;
}

/**
 * Whoever listens has to be process 1, as this pid namespace numbers it, and root: a container that runs an engine may
 * have another one's socket, whose cgroups are not ours.
 */
void check_listener(int socket)
{
    ucred listener{};
    socklen_t size = sizeof listener;
    if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &listener, &size) != 0)
        throw SystemError(errno, "cannot tell who listens at " + quote(manager_socket),
                          ErrorKind::BrokenHost);
    if (listener.pid != 1 || listener.uid != 0)
        throw Error(ErrorKind::BrokenHost,
                    "it is not root's process 1 that listens at " + quote(manager_socket));
}

/** What the error says for people, if it says something. */
Error failure(const dbus::MethodCall &call, const dbus::Message &error)
{
    std::string why = error.error_name;
    if (error.signature.starts_with('s'))
        why = error.values().take_string();
    return {ErrorKind::Failure, "systemd's answer to " + call.member + " is: " + quote(why)};
}

} // namespace

std::optional<ManagerConnection> ManagerConnection::open(Notes &notes)
try {
    const auto name = find_socket();
    if (!name) {
        notes.push_back({LogLevel::Info, "no systemd is process 1 here"});
        return std::nullopt;
    }
    UniqueFd socket = connect_to(name->get());
    check_listener(socket.get());
    return ManagerConnection(std::move(socket));
} catch (const SystemError &error) {
    // A rootless engine; a name that systemd has left behind.
    const bool is_usual = error.error_number() == EACCES || error.error_number() == ECONNREFUSED;
    notes.push_back({is_usual ? LogLevel::Info : LogLevel::Warning, error.what()});
    return std::nullopt;
} catch (const Error &error) {
    notes.push_back({LogLevel::Warning, error.what()});
    return std::nullopt;
}

ManagerConnection::ManagerConnection(UniqueFd socket, std::chrono::milliseconds time)
    : socket_(std::move(socket)), time_(time)
{
}

dbus::Message ManagerConnection::call(const dbus::MethodCall &call)
{
    if (!end_) {
        end_ = std::chrono::steady_clock::now() + time_;
        authenticate();
    }
    const std::uint32_t serial = ++last_serial_;
    send(marshal(call, serial));
    while (true) {
        dbus::Message message = take_message();
        if (message.reply_serial != serial)
            continue;
        if (message.type == dbus::MessageType::Error)
            throw failure(call, message);
        if (message.type == dbus::MessageType::MethodReturn)
            return message;
    }
}

/**
 * By who this process is, as the kernel tells the other end; D-Bus Specification, "Authentication Protocol". BEGIN goes
 * with the rest, as sd-bus does it: systemd would wait for ever if it came together with a call, which it then has in
 * its buffer and polls for (bus_socket_auth_verify_server() of src/libsystemd/sd-bus/bus-socket.c).
 */
void ManagerConnection::authenticate()
{
    constexpr std::string_view root_in_hexadecimal = "30"; // of the text "0"
    send(std::string(1, '\0') + "AUTH EXTERNAL " + std::string(root_in_hexadecimal) + "\r\nBEGIN\r\n");
    if (const std::string answer = take_line(); !answer.starts_with("OK "))
        throw Error(ErrorKind::Failure, "systemd does not take this process for root: " + quote(answer));
}

void ManagerConnection::send(std::string_view bytes)
{
    while (!bytes.empty()) {
        const ssize_t sent = ::send(socket_.get(), bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
        if (sent >= 0)
            bytes.remove_prefix(static_cast<std::size_t>(sent));
        else if (errno == EAGAIN)
            wait(POLLOUT);
        else if (errno != EINTR)
            throw SystemError(errno, "cannot write to systemd");
    }
}

void ManagerConnection::receive()
{
    wait(POLLIN);
    std::array<char, chunk> bytes{};
    const ssize_t got = ::recv(socket_.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (got > 0)
        received_.append(bytes.data(), static_cast<std::size_t>(got));
    else if (got == 0)
        throw Error(ErrorKind::Failure, "systemd has closed the connection");
    else if (errno != EAGAIN && errno != EINTR)
        throw SystemError(errno, "cannot read from systemd");
}

/** Also where there is something to be had at once: what never comes to an end must not take longer either. */
void ManagerConnection::wait(short events)
{
    using std::chrono::milliseconds;
    const auto left = std::chrono::ceil<milliseconds>(*end_ - std::chrono::steady_clock::now());
    pollfd socket{socket_.get(), events, 0};
    const int ready = left > milliseconds(0) ? ::poll(&socket, 1, static_cast<int>(left.count())) : 0;
    if (ready == 0)
        throw Error(ErrorKind::Failure,
                    "systemd has not answered within " + std::to_string(time_.count()) + " ms");
    if (ready < 0 && errno != EINTR)
        throw SystemError(errno, "cannot wait for systemd");
}

std::string ManagerConnection::take_line()
{
    constexpr std::string_view line_end = "\r\n";
    std::size_t length = received_.find(line_end);
    while (length == std::string::npos) {
        if (received_.size() > longest_line)
            throw Error(ErrorKind::Failure, "systemd does not speak D-Bus");
        receive();
        length = received_.find(line_end);
    }
    std::string line = received_.substr(0, length);
    received_.erase(0, length + line_end.size());
    return line;
}

dbus::Message ManagerConnection::take_message()
{
    while (received_.size() < dbus::fixed_header)
        receive();
    const std::size_t length = dbus::message_length(received_);
    while (received_.size() < length)
        receive();
    dbus::Message message = dbus::unmarshal(std::string_view(received_).substr(0, length));
    received_.erase(0, length);
    return message;
}

} // namespace ogh
