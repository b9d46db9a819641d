// SPDX-License-Identifier: Apache-2.0
#include "base/log.h"

#include <syslog.h>
#include <unistd.h>

#include "base/error.h"
#include "base/text.h"

namespace ogh {

namespace {

int priority_of(LogLevel level)
{
    switch (level) {
    case LogLevel::Error:
        return LOG_ERR;
    case LogLevel::Warning:
        return LOG_WARNING;
    case LogLevel::Info:
        return LOG_INFO;
    case LogLevel::Debug:
        break;
    }
    return LOG_DEBUG;
}

} // namespace

void Log::connect() const
{
    ::openlog(name_, LOG_NDELAY | LOG_PID, LOG_DAEMON);
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
    constexpr size_t shown = 12;
    const std::string escaped = quote(id.substr(0, shown));
    container_ = "container " + escaped.substr(1, escaped.size() - 2) + ": ";
}

void Log::write(LogLevel level, std::string_view text) const
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
    if (has_syslog_)
        ::syslog(priority_of(level), "%s", body.c_str());
}

void Log::write(const Notes &notes) const
{
    for (const Note &note : notes)
        write(note.level, note.text);
}

} // namespace ogh
