// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace ogh {

enum class LogLevel { Error, Warning, Info, Debug };

/** Something worth saying that is no error. Library code returns notes; only main writes them. */
struct Note {
    LogLevel level;
    std::string text;
};

using Notes = std::vector<Note>;

/**
 * Writes lines to stderr and to syslog (facility daemon), since crun discards a hook's stderr.
 */
class Log final {
public:
    /** `name` is the hook's; the string must outlive the process, syslog keeps the pointer. */
    explicit Log(const char *name) : name_(name) {}
    Log(const Log &) = delete;
    Log &operator=(const Log &) = delete;

    /** Connects to syslog now, while `/` is the host's; call it once descriptors 0 to 2 are open. */
    void connect() const;

    void set_level(LogLevel level) { level_ = level; }

    /** Names the container in every further line, by the first 12 characters of its id. */
    void set_container(std::string_view id);

    void write(LogLevel level, std::string_view text) const;
    void write(const Notes &notes) const;

private:
    const char *name_;
    std::string container_;
    LogLevel level_ = LogLevel::Warning;
};

} // namespace ogh
