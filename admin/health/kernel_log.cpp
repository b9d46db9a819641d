// SPDX-License-Identifier: Apache-2.0
#include "health/kernel_log.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "base/error.h"
#include "base/file.h"
#include "base/number.h"
#include "base/text.h"
#include "base/unique_fd.h"
#include "engines/engine.h"
#include "kernel/proc_fs.h"

namespace ogh::admin {

namespace {

constexpr const char *log_path = "/dev/kmsg";
/** More than a record is: PRINTK_MESSAGE_MAX of Linux, 2048, and 8192 before 6.6. */
constexpr size_t max_record = size_t{16} << 10U;
/** No buffer of the kernel's holds more; who writes faster than this reads would keep it from ending. */
constexpr size_t max_records = size_t{1} << 20U;
constexpr size_t max_log = size_t{64} << 20U;

/** Goes through records in their order, and notices those that are missing. */
class Reader final {
public:
    Reader(std::uint64_t from, const UseRecord &use) : from_(from), use_(use) { reading_.next = from; }

    /** @param text whole records */
    void add_lines(std::string_view text)
    {
        constexpr std::string_view device = " DEVICE=";
        std::optional<LogRecord> record;
        while (!text.empty()) {
            const std::string_view line = text.substr(0, text.find('\n'));
            text.remove_prefix(std::min(text.size(), line.size() + 1));
            if (record && line.starts_with(device))
                record->device = line.substr(device.size());
            const auto next = parse_log_record(line);
            if (record && next)
                add(*record);
            if (next)
                record = next;
        }
        if (record)
            add(*record);
    }

    void miss(const std::string &what)
    {
        if (reading_.not_looked_at.empty())
            reading_.not_looked_at = what;
    }

    [[nodiscard]] const LogReading &reading() const { return reading_; }

private:
    void add(const LogRecord &record)
    {
        if (record.sequence < from_)
            return;
        if (record.sequence > reading_.next)
            miss(std::to_string(record.sequence - reading_.next) +
                 " messages of the kernel's log, which it has dropped to make room since the last look");
        reading_.next = record.sequence + 1;
        use_(record);
    }

    std::uint64_t from_;
    const UseRecord &use_;
    LogReading reading_;
};

/** Each read() gives one record. */
void read_device(int fd, Reader &reader)
{
    std::array<char, max_record> buffer{};
    for (size_t count = 0; count < max_records; ++count) {
        const ssize_t size = ::read(fd, buffer.data(), buffer.size());
        if (size >= 0)
            reader.add_lines(std::string_view(buffer.data(), static_cast<size_t>(size)));
        if (size == 0 || (size < 0 && errno == EAGAIN))
            return;
        // EPIPE: what came next was dropped meanwhile; the next number shows it.
        if (size < 0 && errno != EINTR && errno != EPIPE)
            return reader.miss(std::string("the kernel's log: reading /dev/kmsg: ") + std::strerror(errno));
    }
    reader.miss("the end of the kernel's log, which grows faster than it can be read");
}

LogReading not_readable(std::uint64_t from, const std::string &why)
{
    return {from, "the kernel's log: " + why};
}

} // namespace

std::optional<LogRecord> parse_log_record(std::string_view line)
{
    constexpr unsigned facility_shift = 3;
    constexpr unsigned max_priority = 1U << 20U;
    const size_t head = line.find(';');
    if (head == std::string_view::npos || line.starts_with(' '))
        return std::nullopt;
    const size_t first = line.find(',');
    const size_t second = line.find(',', first == std::string_view::npos ? first : first + 1);
    if (second == std::string_view::npos || second > head)
        return std::nullopt;
    const auto priority = parse_small_number(line.substr(0, first), max_priority);
    const auto sequence = parse_number(line.substr(first + 1, second - first - 1));
    if (!priority || !sequence)
        return std::nullopt;
    return LogRecord{*sequence, *priority >> facility_shift, line.substr(head + 1)};
}

LogReading read_kernel_log(const Sysroot &sysroot, std::uint64_t from, const UseRecord &use)
{
    // Containers have a pipe or a link to the console there, and reading that would wait or take what is another one's.
    constexpr unsigned kmsg_major = 1;
    constexpr unsigned kmsg_minor = 11;
    const auto place = sysroot.find(log_path);
    if (!place)
        return not_readable(from, "there is no /dev/kmsg");
    struct stat status {};
    if (::fstat(place->fd.get(), &status) != 0)
        throw SystemError(errno, "cannot look at /dev/kmsg", ErrorKind::BrokenHost);
    const bool is_log = S_ISCHR(status.st_mode) && status.st_rdev == ::makedev(kmsg_major, kmsg_minor);
    if (!is_log && (is_this_host(sysroot) || !S_ISREG(status.st_mode)))
        return not_readable(from, "/dev/kmsg is not the kernel's log here");
    UniqueFd fd;
    try {
        fd = ProcFs().reopen(place->fd.get(), O_RDONLY, log_path);
    } catch (const SystemError &error) {
        const int number = error.error_number();
        return not_readable(from, std::string("/dev/kmsg may not be read: ") + std::strerror(number) +
                                      (number == EPERM ? " (kernel.dmesg_restrict)" : ""));
    }
    Reader reader(from, use);
    if (is_log)
        read_device(fd.get(), reader);
    else
        reader.add_lines(read_all(fd.get(), max_log, quote(log_path)));
    return reader.reading();
}

LogReading read_recorded_log(const std::string &path, const UseRecord &use)
{
    const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
    if (!fd.valid())
        throw SystemError(errno, "cannot open " + quote(path), ErrorKind::NotAvailable);
    const std::string text = read_all(fd.get(), max_log, quote(path));
    const auto first = parse_log_record(std::string_view(text).substr(0, text.find('\n')));
    Reader reader(first ? first->sequence : 0, use);
    reader.add_lines(text);
    return {reader.reading().next, ""}; // it may be an excerpt
}

} // namespace ogh::admin
