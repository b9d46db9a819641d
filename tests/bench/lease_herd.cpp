// SPDX-License-Identifier: Apache-2.0
//
// Many that wait for one GPU, each in a fresh process, as a hook is: what a hand-over costs all of them together, whether
// they come in order, and what each takes while it waits. Takes root. Arguments: how many wait, 1000 by default.
#include <fcntl.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "lease/leases.h"
#include "sleeping_init.h"

using namespace ogh;

namespace {

using Clock = std::chrono::steady_clock;

constexpr unsigned most_hand_overs = 30;

/** One hook. */
void take(const std::string &sysroot, pid_t init, std::chrono::seconds wait)
{
    LeaseRequest asked;
    asked.init = init;
    asked.container = std::string(64, 'c');
    asked.demand = {{"nvidia:0000:01:00.0"}, 0, {}, LeaseMode::Exclusive};
    asked.wait = wait;
    asked.runtime = ::getppid();
    Leases{Sysroot{sysroot}}.take(asked).keep();
}

struct Waiter {
    pid_t init = 0;
    pid_t hook = 0;
    bool has_ended = false;
};

pid_t start_hook(const std::string &sysroot, pid_t init)
{
    std::array<std::string, 3> words = {"lease_herd", sysroot, std::to_string(init)};
    std::array<char *, 4> argv = {words[0].data(), words[1].data(), words[2].data(), nullptr};
    pid_t child = 0;
    posix_spawn_file_actions_t actions{};
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_addclosefrom_np(&actions, STDERR_FILENO + 1); // what this process was given
    const int failed = ::posix_spawn(&child, "/proc/self/exe", &actions, nullptr, argv.data(), nullptr);
    ::posix_spawn_file_actions_destroy(&actions);
    if (failed != 0)
        throw std::runtime_error("posix_spawn");
    return child;
}

bool is_in_state(const std::string &sysroot, const std::string &words)
{
    std::ifstream file(sysroot + "/run/oci-gpu-hooks/leases/state");
    return std::string(std::istreambuf_iterator<char>(file), {}).find(words) != std::string::npos;
}

/** ns, since it was started. */
double cpu_of(pid_t pid)
{
    clockid_t clock{};
    timespec time{};
    if (::clock_getcpuclockid(pid, &clock) != 0 || ::clock_gettime(clock, &time) != 0)
        return 0;
    return static_cast<double>(time.tv_sec) * 1e9 + static_cast<double>(time.tv_nsec);
}

class Herd final {
public:
    Herd(std::string sysroot, unsigned count) : sysroot_(std::move(sysroot)), holder_(bench::start_init())
    {
        std::filesystem::create_directory(sysroot_);
        take(sysroot_, holder_, std::chrono::seconds(0));
        for (unsigned number = 1; number <= count; ++number) {
            waiters_.push_back({bench::start_init()});
            waiters_.back().hook = start_hook(sysroot_, waiters_.back().init);
            while (!is_in_state(sysroot_, "\"number\":" + std::to_string(number) + ","))
                std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
    }
    Herd(const Herd &) = delete;
    Herd &operator=(const Herd &) = delete;

    ~Herd()
    {
        for (const Waiter &waiter : waiters_) {
            if (!waiter.has_ended)
                ::kill(waiter.hook, SIGKILL);
            ::kill(waiter.init, SIGKILL);
        }
        ::kill(holder_, SIGKILL);
        while (::wait(nullptr) > 0) {
        }
    }

    /** The holder ends, and so on. @return CPU time of all hooks for one hand-over, ms */
    double hand_over()
    {
        const size_t count = std::min<size_t>(most_hand_overs, waiters_.size() - 1);
        double greatest = 0;
        const double before = cpu();
        for (size_t number = 0; number < count; ++number) {
            const auto start = Clock::now();
            ::kill(number == 0 ? holder_ : waiters_[number - 1].init, SIGKILL);
            end_of(waiters_[number]);
            greatest = std::max(greatest, std::chrono::duration<double>(Clock::now() - start).count());
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(300)); // for those who look once more
        const double each = (cpu() - before) / 1e6 / static_cast<double>(count);
        std::printf("%5zu wait: %.2f ms of CPU a hand-over, greatest gap %.3f s; %zu descriptors, %ld KiB\n",
                    waiters_.size(), each, greatest, descriptors(), memory());
        return each;
    }

private:
    /** All come in their order: nobody else has ended. */
    void end_of(Waiter &waiter)
    {
        rusage usage{};
        int status = 0;
        if (::wait4(waiter.hook, &status, 0, &usage) != waiter.hook || status != 0)
            throw std::runtime_error("one that waited has no lease");
        waiter.has_ended = true;
        for (const timeval &time : {usage.ru_utime, usage.ru_stime})
            ended_cpu_ += static_cast<double>(time.tv_sec) * 1e9 + static_cast<double>(time.tv_usec) * 1e3;
        for (const Waiter &other : waiters_) {
            siginfo_t about{};
            if (!other.has_ended &&
                ::waitid(P_PID, static_cast<id_t>(other.hook), &about, WEXITED | WNOHANG | WNOWAIT) == 0 &&
                about.si_pid != 0)
                throw std::runtime_error("one came before its turn");
        }
    }

    [[nodiscard]] double cpu() const
    {
        double all = ended_cpu_;
        for (const Waiter &waiter : waiters_)
            all += waiter.has_ended ? 0 : cpu_of(waiter.hook);
        return all;
    }

    [[nodiscard]] std::string proc(const char *file) const
    {
        return "/proc/" + std::to_string(waiters_.back().hook) + "/" + file;
    }

    [[nodiscard]] size_t descriptors() const
    {
        const std::filesystem::directory_iterator all(proc("fd"));
        return static_cast<size_t>(std::distance(begin(all), end(all)));
    }

    /** What it has for itself. */
    [[nodiscard]] long memory() const
    {
        std::ifstream status(proc("status"));
        for (std::string word; status >> word;) {
            long size = 0;
            if (word == "RssAnon:" && status >> size)
                return size;
        }
        return -1;
    }

    std::string sysroot_;
    pid_t holder_;
    std::vector<Waiter> waiters_;
    double ended_cpu_ = 0;
};

} // namespace

int main(int argc, char **argv)
try {
    const std::vector<std::string> words(argv + 1, argv + argc);
    if (words.size() == 2) {
        take(words[0], static_cast<pid_t>(std::stol(words[1])), std::chrono::hours(1));
        return 0;
    }
    std::string directory = "/dev/shm/leases-XXXXXX";
    if (::mkdtemp(directory.data()) == nullptr)
        throw std::runtime_error("mkdtemp");
    const double few = Herd(directory + "/few", 10).hand_over();
    const double many =
        Herd(directory + "/many", words.empty() ? 1000 : static_cast<unsigned>(std::stoul(words[0])))
            .hand_over();
    std::filesystem::remove_all(directory);
    std::printf("with that many a hand-over costs %.2f times what it costs with 10\n", many / few);
    return 0;
} catch (const std::exception &error) {
    std::cerr << "lease_herd: " << error.what() << "\n";
    return 1;
}
