// SPDX-License-Identifier: Apache-2.0
#include "lease/lock_wait.h"

#include <sys/file.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <ctime>
#include <vector>

#include "base/error.h"
#include "base/number.h"
#include "base/text.h"
#include "kernel/end_signals.h"
#include "kernel/repeated_interrupt.h"

namespace ogh {

namespace {

using Clock = std::chrono::steady_clock; // stands still while the host sleeps, as whoever has the lock does

/** How many looks at who has the lock there are, until patience is at its end. */
constexpr int looks = 10;

/** @return false: another one has it, or a signal has come */
bool has_locked(int fd, int how, const std::string &name)
{
    if (::flock(fd, how) == 0)
        return true;
    if (errno == EWOULDBLOCK || errno == EINTR)
        return false;
    throw SystemError(errno, "cannot lock " + name, ErrorKind::BrokenHost);
}

std::optional<pid_t> find_lock_holder(int fd, const Processes &processes)
{
    struct stat status {};
    if (::fstat(fd, &status) != 0)
        return std::nullopt;
    return lock_holder(processes.locks(), status.st_dev, status.st_ino);
}

/** "the process 17 ('python3', stopped)" */
std::string name_of_process(pid_t pid, const Processes &processes)
{
    const std::string stat = processes.read(pid, "stat").value_or("");
    const size_t start = stat.find('(');
    const size_t end = stat.rfind(')'); // the name may have any of its own
    std::string text = "the process " + std::to_string(pid);
    if (start == std::string::npos || end == std::string::npos || end + 2 >= stat.size())
        return text;
    const char state = stat[end + 2];
    return text + " (" + quote(stat.substr(start + 1, end - start - 1)) +
           (state == 'T' || state == 't' ? ", stopped)" : ")");
}

Error stands_still(const std::string &name, std::optional<pid_t> holder, const Processes &processes,
                   std::chrono::milliseconds patience)
{
    const auto seconds = std::chrono::ceil<std::chrono::seconds>(patience).count();
    return {ErrorKind::BrokenHost,
            name + " has been locked for " + std::to_string(seconds) + " s by " +
                (holder ? name_of_process(*holder, processes)
                        : "a process that /proc/locks does not show, as of another pid namespace") +
                ", which holds up all hooks: let it go on, or end it"};
}

} // namespace

std::optional<pid_t> lock_holder(std::string_view locks, dev_t device, ino_t inode)
{
    std::array<char, 64> file{};
    std::snprintf(file.data(), file.size(), "%02x:%02x:%llu", major(device), minor(device),
                  static_cast<unsigned long long>(inode));
    for (const std::string &line : split_list(locks, '\n')) {
        // "3: FLOCK  ADVISORY  WRITE 4711 00:1b:12 0 EOF"; one that waits has "->" in front of FLOCK.
        std::vector<std::string> words = split_list(line, ' ');
        std::erase(words, "");
        if (words.size() < 6 || words[1] != "FLOCK" || words[5] != file.data())
            continue;
        if (const auto pid = parse_number(words[4]))
            return static_cast<pid_t>(*pid);
    }
    return std::nullopt;
}

std::string lock_keeper(dev_t device, ino_t inode, const Processes &processes)
{
    constexpr timespec pause{0, 50'000'000};
    const std::optional<pid_t> holder = lock_holder(processes.locks(), device, inode);
    for (int look = 0; holder && look < looks; ++look) {
        ::nanosleep(&pause, nullptr);
        if (lock_holder(processes.locks(), device, inode) != holder)
            return "";
    }
    return holder ? name_of_process(*holder, processes) : "";
}

void lock_file(int fd, const std::string &name, const Processes &processes, const Patience &patience)
{
    if (has_locked(fd, LOCK_EX | LOCK_NB, name))
        return;
    // By a signal and not by asking again and again: the kernel wakes whoever waits at once, and nobody else.
    const RepeatedInterrupt interrupt(patience.limit / looks);
    std::optional<pid_t> holder = find_lock_holder(fd, processes);
    Clock::time_point since = Clock::now();
    while (!has_locked(fd, LOCK_EX, name)) {
        const std::optional<pid_t> now = find_lock_holder(fd, processes);
        if (now != holder) {
            holder = now;
            since = Clock::now();
        } else if (Clock::now() - since >= patience.limit) {
            throw stands_still(name, holder, processes, patience.limit);
        }
        if (patience.is_ended_by_signals)
            check_end_signals("waiting for another process that has locked " + name);
    }
}

} // namespace ogh
