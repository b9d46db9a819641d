// SPDX-License-Identifier: Apache-2.0
#include "base/log_file.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <linux/openat2.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>

#include "base/error.h"
#include "base/root_file.h"
#include "base/text.h"

namespace ogh {

namespace {

UniqueFd open_or_make(const std::string &path, const std::string &what)
{
    open_how how{};
    // Not blocking: what is there may be a FIFO.
    how.flags = O_WRONLY | O_APPEND | O_CREAT | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
    how.mode = 0600;
    how.resolve = RESOLVE_NO_SYMLINKS;
    const long fd = ::syscall(SYS_openat2, AT_FDCWD, path.c_str(), &how, sizeof(how));
    if (fd < 0)
        throw SystemError(errno, "cannot open " + what, ExitCode::Host);
    return UniqueFd(static_cast<int>(fd));
}

/** As RFC 3339 has it; without the C library's time zones, which are files. */
std::string now()
{
    using namespace std::chrono;
    const auto time = floor<seconds>(system_clock::now());
    const auto day = floor<days>(time);
    const year_month_day date{day};
    const hh_mm_ss<seconds> clock{time - day};
    std::array<char, 64> text{};
    std::snprintf(text.data(), text.size(), "%04d-%02u-%02uT%02ld:%02ld:%02ldZ",
                  static_cast<int>(date.year()), static_cast<unsigned>(date.month()),
                  static_cast<unsigned>(date.day()), static_cast<long>(clock.hours().count()),
                  static_cast<long>(clock.minutes().count()), static_cast<long>(clock.seconds().count()));
    return text.data();
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

} // namespace ogh
