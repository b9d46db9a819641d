// SPDX-License-Identifier: Apache-2.0
#include "base/log.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <syslog.h>
#include <unistd.h>
#include <linux/openat2.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <utility>

#include "base/duration.h"
#include "base/error.h"
#include "base/file.h"
#include "base/table.h"
#include "base/text.h"

namespace ogh {

namespace {

constexpr sockaddr_un log_address{AF_UNIX, "/dev/log"};

/** Of syslog(3), by LogLevel. */
constexpr std::array priorities{LOG_ERR, LOG_WARNING, LOG_INFO, LOG_DEBUG};

UniqueFd open_or_make(const std::string &path, const std::string &what)
{
    open_how how{};
    // Not blocking: what is there may be a FIFO.
    how.flags = O_WRONLY | O_APPEND | O_CREAT | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
    how.mode = 0600;
    how.resolve = RESOLVE_NO_SYMLINKS;
    const long fd = ::syscall(SYS_openat2, AT_FDCWD, path.c_str(), &how, sizeof(how));
    if (fd < 0)
        throw SystemError(errno, "cannot open " + what, ErrorKind::BrokenHost);
    return UniqueFd(static_cast<int>(fd));
}

std::string now()
{
    const auto time = std::chrono::system_clock::now().time_since_epoch();
    return utc_text(std::chrono::floor<std::chrono::seconds>(time).count());
}

} // namespace

LogFile::LogFile(const std::string &path)
{
    const std::string what = "the log file " + quote(path);
    fd_ = open_or_make(path, what);
    check_root_file(fd_.get(), 0644, what);
}

void LogFile::write(std::string_view line) const
{
    const std::string text = now() + " " + std::string(line) + "\n";
    // A full disk is no reason for a container not to start.
    [[maybe_unused]] const ssize_t written = ::write(fd_.get(), text.data(), text.size());
}

void Log::connect()
{
    if (!std::exchange(may_connect_, false))
        return;
    // Some listen to a stream instead, in which each message ends with a NUL.
    for (const int type : {SOCK_DGRAM, SOCK_STREAM}) {
        syslog_ = UniqueFd(::socket(AF_UNIX, type | SOCK_CLOEXEC, 0));
        is_stream_ = type == SOCK_STREAM;
        if (::connect(syslog_.get(), reinterpret_cast<const sockaddr *>(&log_address), sizeof(log_address)) ==
            0)
            return;
        if (errno != EPROTOTYPE)
            break;
    }
    syslog_.reset();
}

void Log::write_to_syslog(LogLevel level, std::string_view text)
{
    connect();
    if (!syslog_.valid())
        return;
    std::string message = "<" + std::to_string(LOG_DAEMON | priorities.at(static_cast<size_t>(level))) + ">";
    message.append(name_).append("[" + std::to_string(::getpid()) + "]: ").append(text);
    const size_t size = message.size() + (is_stream_ ? 1 : 0); // with the NUL that ends the string
    [[maybe_unused]] const ssize_t sent = ::send(syslog_.get(), message.c_str(), size, MSG_NOSIGNAL);
}

void Log::add_file(const std::string &path)
{
    try {
        file_.emplace(path);
    } catch (const Error &error) {
        write(LogLevel::Warning, std::string(error.what()) + ", ignoring");
    }
}

void Log::set_container(std::string_view id)
{
    const std::string escaped = quote(short_container(id));
    container_ = "container " + escaped.substr(1, escaped.size() - 2) + ": ";
}

void Log::write(LogLevel level, std::string_view text)
{
    if (level > level_)
        return;
    const std::string body = printable(container_ + std::string(text));
    std::string line = std::string(name_) + ": " + body;
    if (file_)
        file_->write(line);
    line += '\n';
    // One write, so that lines of hooks that run at once do not mix; a closed stderr is nobody's loss.
    [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, line.data(), line.size());
    write_to_syslog(level, body);
}

void Log::write(const Notes &notes)
{
    for (const Note &note : notes)
        write(note.level, note.text);
}

} // namespace ogh
