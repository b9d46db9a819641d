// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/unique_fd.h"

namespace ogh {

enum class LogLevel { Error, Warning, Info, Debug };

/** Something worth saying that is no error. Library code returns notes; only main writes them. */
struct Note {
    LogLevel level;
    std::string text;
};

using Notes = std::vector<Note>;

/**
 * A file that messages are added to, a line each (--log-file), for hosts without syslog such as a worker that is a
 * container itself.
 *
 * It is a plain file of this process's user (root) with one name, which nobody else may write; it is made if it is
 * missing. No component of its path may be a symlink: what root appends to must not be chosen by others.
 */
class LogFile final {
public:
    /**
     * Opens it on the host: call it before entering a container.
     * @param path absolute
     * @throws Error if it is not such a file, or cannot be opened
     */
    explicit LogFile(const std::string &path);

    /** Adds the time (UTC) and `line` in one write, so that lines of hooks that run at once do not mix; never fails. */
    void write(std::string_view line) const;

private:
    UniqueFd fd_;
};

/** Writes lines to stderr, to syslog (facility daemon), since crun discards a hook's stderr, and to a file. */
class Log final {
public:
    /** `name` is the hook's; the string must outlive the process. */
    explicit Log(const char *name) : name_(name) {}
    Log(const Log &) = delete;
    Log &operator=(const Log &) = delete;

    /**
     * Connects to the host's syslog by the socket /dev/log, once and for all: call it while `/` is the host's. Not by
     * syslog(3), which reads /etc/localtime when the first message is written, and connects anew where a message could not
     * be sent: by then this process may be in a container's mount namespace, whose /dev/log is the container's. Messages
     * have no time, and whoever receives them adds it. Without anybody who listens, and when one cannot be sent, it is lost.
     */
    void connect();

    /** From now on syslog has no line; before connect(). */
    void leave_syslog_alone() { may_connect_ = false; }

    void set_level(LogLevel level) { level_ = level; }

    /** Adds every further line to this file as well, see LogFile; a warning if it cannot be used. */
    void add_file(const std::string &path);

    /** Names the container in every further line, as short_container() has it. */
    void set_container(std::string_view id);

    void write(LogLevel level, std::string_view text);
    void write(const Notes &notes);

private:
    void write_to_syslog(LogLevel level, std::string_view text);

    const char *name_;
    std::string container_;
    LogLevel level_ = LogLevel::Warning;
    bool may_connect_ = true; ///< to syslog: nobody has tried
    UniqueFd syslog_;
    bool is_stream_ = false;
    std::optional<LogFile> file_;
};

} // namespace ogh
