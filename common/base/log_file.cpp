// SPDX-License-Identifier: Apache-2.0
#include "base/log_file.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <linux/openat2.h>

#include <cerrno>
#include <chrono>

#include "base/error.h"
#include "base/root_file.h"
#include "base/text.h"
#include "base/utc_text.h"

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

} // namespace ogh
