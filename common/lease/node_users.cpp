// SPDX-License-Identifier: Apache-2.0
#include "lease/node_users.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <ctime>
#include <memory>
#include <optional>
#include <string_view>

#include "base/letters.h"
#include "base/number.h"

namespace ogh {

namespace {

struct CloseListing {
    void operator()(DIR *listing) const { ::closedir(listing); }
};
using Listing = std::unique_ptr<DIR, CloseListing>;

/** Takes the descriptor. */
Listing listing_of(UniqueFd directory)
{
    Listing listing(directory.valid() ? ::fdopendir(directory.get()) : nullptr);
    if (listing != nullptr)
        static_cast<void>(directory.release());
    return listing;
}

/** The next name that is a number; nullptr: there is none, or the process has ended. */
const char *next_number(DIR *listing)
{
    while (const dirent *const entry = ::readdir(listing)) {
        if (is_digit(entry->d_name[0]))
            return entry->d_name;
    }
    return nullptr;
}

/** Of this thread: the answer must not depend on what else runs. */
std::chrono::nanoseconds processor_time()
{
    timespec time{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

class NodeScan final {
public:
    NodeScan(const Processes &processes, const GpuNodes &nodes, std::string_view name,
             std::chrono::nanoseconds most)
        : processes_(processes), nodes_(nodes), name_(name), deadline_(processor_time() + most)
    {
    }

    GpuUsers find(const Monitors &monitors)
    {
        const Listing all = listing_of(processes_.open_directory("."));
        if (all == nullptr)
            return GpuUsers::not_known("/proc cannot be read");
        GpuUsers found;
        while (const char *const number = next_number(all.get())) {
            const auto pid = parse_small_number(number, INT_MAX);
            if (!pid)
                continue;
            auto user = look_at(static_cast<pid_t>(*pid));
            if (!unknown_.empty())
                return GpuUsers::not_known(unknown_);
            if (user && !monitors.has(processes_, user->process.pid))
                found.users.push_back(std::move(*user));
        }
        return found;
    }

private:
    std::optional<GpuUser> look_at(pid_t pid)
    {
        if (is_late())
            return std::nullopt;
        errno = 0;
        const Listing open = listing_of(processes_.open_directory(std::to_string(pid) + "/fd"));
        if (open == nullptr) {
            if (errno == EACCES || errno == EPERM)
                unknown_ = "there are processes that this one may not look at";
            return std::nullopt;
        }
        std::set<LeaseKey> gpus;
        std::string one; // of its descriptors
        while (const char *const number = next_number(open.get())) {
            if (is_late())
                return std::nullopt;
            const LeaseKey *const gpu = gpu_at(::dirfd(open.get()), number);
            if (gpu != nullptr && gpus.insert(*gpu).second)
                one = number;
        }
        if (gpus.empty())
            return std::nullopt;
        auto user = user_of(processes_, pid, std::move(gpus));
        // The directory is that of the process that was looked at: as long as it has something, the pid is nobody else's.
        return gpu_at(::dirfd(open.get()), one.c_str()) == nullptr ? std::nullopt : std::move(user);
    }

    [[nodiscard]] const LeaseKey *gpu_at(int directory, const char *descriptor) const
    {
        std::array<char, PATH_MAX> text{};
        const ssize_t size = ::readlinkat(directory, descriptor, text.data(), text.size());
        std::string_view name(text.data(), static_cast<size_t>(std::max<ssize_t>(size, 0)));
        name.remove_prefix(name.rfind('/') + 1); // npos + 1 is 0
        if (!name.starts_with(name_) || name.size() == name_.size() || !is_digit(name[name_.size()]))
            return nullptr;
        struct statx status {};
        const int flags = AT_STATX_DONT_SYNC | AT_NO_AUTOMOUNT;
        // What is opened with O_PATH alone can neither be read nor written, and is not used.
        constexpr unsigned read_or_write = S_IRUSR | S_IWUSR;
        if (::statx(directory, descriptor, flags | AT_SYMLINK_NOFOLLOW, STATX_MODE, &status) != 0 ||
            (status.stx_mode & read_or_write) == 0 ||
            ::statx(directory, descriptor, flags, STATX_TYPE, &status) != 0 || !S_ISCHR(status.stx_mode))
            return nullptr;
        const auto found = nodes_.find({status.stx_rdev_major, status.stx_rdev_minor});
        return found == nodes_.end() ? nullptr : &found->second;
    }

    bool is_late()
    {
        constexpr unsigned now_and_then = 32;
        if (++looked_at_ % now_and_then == 0 && processor_time() >= deadline_)
            unknown_ = "there are too many open files to look at all of them in time";
        return !unknown_.empty();
    }

    const Processes &processes_;
    const GpuNodes &nodes_;
    std::string_view name_;
    std::chrono::nanoseconds deadline_; ///< of processor_time()
    unsigned looked_at_ = 0;
    std::string unknown_;
};

} // namespace

GpuUsers find_node_users(const Processes &processes, const GpuNodes &nodes, const std::string &name,
                         const Monitors &monitors, std::chrono::nanoseconds most)
{
    if (std::string why = why_unknown(processes); !why.empty())
        return GpuUsers::not_known(std::move(why));
    return NodeScan(processes, nodes, name, most).find(monitors);
}

} // namespace ogh
