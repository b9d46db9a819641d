// SPDX-License-Identifier: Apache-2.0
//
// What leases add to a hook: the time from looking at the host's leases until the container has its own, each in a fresh
// process, as a hook is. Takes root.
#include "lease/leases.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "sleeping_init.h"

using namespace ogh;

namespace {

constexpr unsigned gpus = 64;
constexpr unsigned containers = 200;
constexpr unsigned rounds = 200;

/** Which leaves room for all of them. */
Quotas quotas()
{
    return {{"key:nightly", 1000}};
}

LeaseKey gpu(unsigned number)
{
    std::array<char, 32> text{};
    std::snprintf(text.data(), text.size(), "nvidia:0000:%02x:00.0", number % gpus);
    return text.data();
}

LeaseRequest request(pid_t init, Demand demand)
{
    LeaseRequest asked;
    asked.init = init;
    asked.container = std::string(64, 'c');
    asked.demand = std::move(demand);
    asked.runtime = ::getppid();
    return asked;
}

/** What is measured, with what it asks for. */
Demand demand_of(const std::string &name)
{
    if (name == "fixed")
        return {{gpu(5)}, 0, {}, LeaseMode::Shared};
    if (name == "free" || name == "written")
        return {{"nvidia:0001:00:00.0"}, 0, {}, LeaseMode::Exclusive};
    if (name == "quota")
        return {{"nvidia:0001:00:00.0"}, 0, {}, LeaseMode::Exclusive, quotas()};
    Demand demand{{}, 1, {}, LeaseMode::Shared};
    for (unsigned number = 0; number < gpus; ++number)
        demand.candidates.push_back(gpu(number));
    return demand;
}

/** One hook: prints how long it took, in ns. */
void once(const std::string &name, const std::string &sysroot, pid_t init)
{
    LeaseRequest asked = request(init, demand_of(name));
    const Sysroot host{sysroot};
    const auto start = std::chrono::steady_clock::now();
    {
        std::shared_ptr<History> history;
        if (name == "written") {
            asked.label = {"job/train", "example.org/image:1", "ml", "annotation", "/run/bundle"};
            history = std::make_shared<History>(host, default_history, "nvidia-devices");
        }
        Leases leases{host, history};
        const Lease lease = leases.take(asked);
        const auto end = std::chrono::steady_clock::now();
        std::cout << std::chrono::duration_cast<std::chrono::nanoseconds>(end - start).count() << "\n";
    }
}

/** @return ms */
double measured(const std::string &name, const std::string &sysroot, pid_t init)
{
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0)
        throw std::runtime_error("pipe2");
    posix_spawn_file_actions_t actions{};
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
    std::array<std::string, 4> words = {"leases", name, sysroot, std::to_string(init)};
    std::array<char *, 5> argv = {words[0].data(), words[1].data(), words[2].data(), words[3].data(),
                                  nullptr};
    pid_t child = 0;
    if (::posix_spawn(&child, "/proc/self/exe", &actions, nullptr, argv.data(), nullptr) != 0)
        throw std::runtime_error("posix_spawn");
    posix_spawn_file_actions_destroy(&actions);
    ::close(ends[1]);
    std::array<char, 32> text{};
    const ssize_t size = ::read(ends[0], text.data(), text.size() - 1);
    ::close(ends[0]);
    int status = 0;
    ::waitpid(child, &status, 0);
    if (size <= 0 || status != 0)
        throw std::runtime_error("a measured process failed");
    return std::strtod(text.data(), nullptr) / 1e6;
}

/** @return the median, ms */
double report(const char *label, const char *name, const std::string &sysroot, pid_t init)
{
    std::vector<double> times;
    for (unsigned round = 0; round < rounds; ++round)
        times.push_back(measured(name, sysroot, init));
    std::sort(times.begin(), times.end());
    const double median = times[times.size() / 2];
    std::printf("%-44s min %.3f ms, median %.3f ms\n", label, times.front(), median);
    return median;
}

void take_all(const std::string &sysroot, const std::vector<pid_t> &inits, const Quotas &by)
{
    Leases leases{Sysroot{sysroot}};
    for (unsigned number = 0; number < inits.size(); ++number)
        leases.take(request(inits[number], {{gpu(number)}, 0, {}, LeaseMode::Shared, by})).keep();
}

/** @param sysroot a directory for two hosts */
void compare(const std::string &sysroot)
{
    const pid_t init = bench::start_init();
    std::vector<pid_t> inits;
    for (unsigned number = 0; number < containers; ++number)
        inits.push_back(bench::start_init());
    const std::string plain = sysroot + "/plain";
    const std::string limited = sysroot + "/limited";
    for (const std::string &directory : {plain, limited})
        std::filesystem::create_directory(directory);
    const double none = report("no other lease, exclusive", "free", plain, init);
    const double written = report("no other lease, with names and a history", "written", plain, init);
    const double none_by_quota = report("no other lease, by a quota", "quota", limited, init);
    take_all(plain, inits, {});
    take_all(limited, inits, quotas());
    const double many = report("200 leases, one GPU without any, exclusive", "free", plain, init);
    report("200 leases, one GPU that is shared", "fixed", plain, init);
    report("200 leases, any one of 64 GPUs", "any", plain, init);
    const double many_by_quota = report("200 leases by the same quota", "quota", limited, init);
    std::printf("names and a history take %.2f times as long as none\n", written / none);
    std::printf("200 leases take %.2f times as long as none, and by one quota %.2f times\n", many / none,
                many_by_quota / none_by_quota);
    for (const pid_t pid : inits)
        ::kill(pid, SIGKILL);
    ::kill(init, SIGKILL);
}

} // namespace

int main(int argc, char **argv)
try {
    const std::vector<std::string> words(argv + 1, argv + argc);
    if (words.size() == 3) {
        once(words[0], words[1], static_cast<pid_t>(std::stol(words[2])));
        return 0;
    }
    std::string directory = "/dev/shm/leases-XXXXXX";
    if (::mkdtemp(directory.data()) == nullptr)
        throw std::runtime_error("mkdtemp");
    compare(directory);
    std::filesystem::remove_all(directory);
    return 0;
} catch (const std::exception &error) {
    std::cerr << "leases: " << error.what() << "\n";
    return 1;
}
