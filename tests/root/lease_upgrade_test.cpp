// SPDX-License-Identifier: Apache-2.0
//
// The package is upgraded beside containers whose hooks were of a version that knows version 1 of the lease file alone.
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "child.h"
#include "lease/lease_file.h"
#include "lease_host.h"

BOOST_AUTO_TEST_SUITE(lease_upgrade)

using namespace ogh;
using namespace ogh::test;
using namespace std::chrono_literals;

namespace fs = std::filesystem;

namespace {

constexpr size_t count = 8; ///< of GPUs, of those that have them, and of those that wait
constexpr const char *of_version_1 = "oci-gpu-hooks leases 1\n";

std::string gpu(size_t number)
{
    return "n:" + std::to_string(number);
}

std::string all_gpus()
{
    std::string list = gpu(0);
    for (size_t i = 1; i < count; ++i)
        list += "," + gpu(i);
    return list;
}

std::string identity(pid_t pid)
{
    return std::to_string(pid) + " " + std::to_string(Processes().open_pidfd(pid).value().id.start_time);
}

std::string holding_line(const std::string &key, const std::string &init, const std::string &name)
{
    return "holding 5 6 1 exclusive " + key + " " + init + " own 0 - - " + name + " /bin/sh\n";
}

/** Lines of a file in which each stands for something, as the earlier program sees it. */
struct FirstState {
    std::vector<std::string> before, allocations, tickets, after;

    explicit FirstState(const std::string &text)
    {
        std::istringstream lines(text);
        for (std::string line; std::getline(lines, line);) {
            line += '\n';
            const bool is_ticket = line.starts_with("ticket ");
            if (line.starts_with("holding "))
                allocations.push_back(line);
            else
                (is_ticket ? tickets : allocations.empty() ? before : after).push_back(line);
        }
    }

    [[nodiscard]] std::string text() const
    {
        std::string all;
        for (const auto *part : {&before, &allocations, &tickets, &after}) {
            for (const std::string &line : *part)
                all += line;
        }
        return all;
    }

    /** A GPU that nobody has who lives. */
    [[nodiscard]] std::string free_gpu()
    {
        std::erase_if(allocations, [](const std::string &line) {
            std::istringstream words(line);
            std::string word;
            pid_t pid = 0;
            words >> word >> word >> word >> word >> word >> word >> pid;
            return ::kill(pid, 0) != 0;
        });
        for (size_t i = 0; i < count; ++i) {
            const auto has_it = [&](const std::string &line) {
                return line.find(" " + gpu(i) + " ") != std::string::npos;
            };
            if (std::none_of(allocations.begin(), allocations.end(), has_it))
                return gpu(i);
        }
        return "";
    }
};

/** One look of an earlier hook that waits, with the lock held. @return what has become of it; "" if it waits on */
std::string look_as_version_1(const LeaseHost &host, size_t number, const std::string &init)
{
    const std::string text = host.state();
    if (!text.starts_with(of_version_1))
        return "cannot read " + text;
    FirstState state(text);
    const std::string own = "ticket " + std::to_string(number) + " ";
    if (state.tickets.empty() || std::none_of(state.tickets.begin(), state.tickets.end(),
                                              [&](const std::string &line) { return line.starts_with(own); }))
        return "has lost its ticket";
    const std::string key = state.free_gpu();
    if (key.empty() || !state.tickets.front().starts_with(own))
        return "";
    state.tickets.erase(state.tickets.begin());
    state.allocations.push_back(holding_line(key, init, "later-" + std::to_string(number)));
    std::ofstream(host.state_path() + ".new") << state.text();
    fs::rename(host.state_path() + ".new", host.state_path());
    return key;
}

/** A hook of the earlier version that waits, once there is a state. It ends with what it has come to in `result-NUMBER`. */
Child waiter_of_version_1(const LeaseHost &host, size_t number, const Init &init)
{
    return Child([&host, number, init = identity(init.pid())] {
        for (std::string become; become.empty(); std::this_thread::sleep_for(5ms)) {
            if (!fs::exists(host.state_path()))
                continue;
            const std::string file = host.path("run/oci-gpu-hooks/leases/lock");
            const UniqueFd lock(::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
            check_call(::flock(lock.get(), LOCK_EX), "flock");
            become = look_as_version_1(host, number, init);
            if (!become.empty())
                std::ofstream(host.path("result-" + std::to_string(number))) << become;
        }
    });
}

struct Upgrade : LeaseHost {
    Upgrade() : holders(count), later(count)
    {
        fs::create_directories(path("run/oci-gpu-hooks/leases"));
        for (size_t i = 0; i < count; ++i)
            waiters.push_back(waiter_of_version_1(*this, i + 1, later[i]));
        const ProcessSpace space = Processes().space();
        std::string text = of_version_1;
        text += "space " + space.boot + " " + std::to_string(space.pid_namespace) + " " +
                std::to_string(space.start_time) + "\nuses 1\nnumbers " + std::to_string(count) + "\n";
        for (size_t i = 0; i < count; ++i)
            text += holding_line(gpu(i), identity(holders[i].pid()), "first-" + std::to_string(i));
        for (size_t i = 0; i < count; ++i)
            text += "ticket " + std::to_string(i + 1) + " " + identity(waiters[i].pid()) +
                    " 9000000000000000000 7 exclusive - 1 " + all_gpus() + " " + identity(later[i].pid()) +
                    " own 0 - - later-" + std::to_string(i + 1) + " /bin/sh\n";
        text += "drain 3 n:99\nused 1 n:0\nend\n";
        std::ofstream(path("written")) << text;
        fs::rename(path("written"), state_path());
    }

    [[nodiscard]] bool is_version_1() const { return state().starts_with(of_version_1); }

    [[nodiscard]] std::string become(size_t number) const
    {
        std::string text;
        std::getline(std::ifstream(path("result-" + std::to_string(number))), text);
        return text;
    }

    std::vector<Init> holders; ///< of the GPUs
    std::vector<Init> later;   ///< whose hooks wait for one
    std::vector<Child> waiters;
};

/** A hook of this version that waits for any of the GPUs. */
Child waiter_of_now(const LeaseHost &host, const Init &init)
{
    return Child([&] {
        LeaseRequest asked = LeaseHost::request(init, {});
        asked.demand.any = 1;
        for (size_t i = 0; i < count; ++i)
            asked.demand.candidates.push_back(gpu(i));
        asked.runtime = ::getppid();
        asked.wait = 60s;
        asked.preemption.is_allowed = false; // the others have executed nothing for long
        Leases leases{Sysroot(host.path())};
        leases.take(asked).keep();
    });
}

void wait_for_words(const LeaseHost &host, const std::string &words)
{
    for (int round = 0; round < 2000 && host.state().find(words) == std::string::npos; ++round)
        std::this_thread::sleep_for(2ms);
    BOOST_TEST(host.state().find(words) != std::string::npos, host.state());
}

} // namespace

BOOST_FIXTURE_TEST_CASE(eight_have_gpus_and_eight_wait_and_nothing_is_lost, Upgrade)
{
    const Init other;
    BOOST_TEST(take(request(other, {"n:50"})) == 0);
    BOOST_TEST(list().entries.size() == 2 * count + 1);
    const Init last;
    Child waits = waiter_of_now(*this, last);
    wait_for_words(*this, "\nticket 9 ");
    BOOST_TEST(is_version_1());
    for (size_t i = 0; i < count; ++i) {
        BOOST_TEST(become(i + 1).empty(), become(i + 1));
        holders[i].end();
        BOOST_TEST(waiters[i].wait() == 0);
        BOOST_TEST(become(i + 1) == gpu(i));
        BOOST_TEST(list().entries.size() == 2 * count + 1 - i);
        BOOST_TEST(is_version_1() == (i + 1 < count), state());
    }
    BOOST_TEST(state().find("\nticket number=9 ") != std::string::npos, state());
    later.front().end();
    BOOST_TEST(waits.wait() == 0);
    const LeaseState now = parse_lease_file(state()).state;
    BOOST_TEST(now.allocations.size() == count + 1);
    BOOST_TEST(now.allocations.back().holder.init.pid == last.pid());
    BOOST_TEST(now.allocations.back().devices.front().key == gpu(0));
    BOOST_TEST(now.tickets.empty());
    BOOST_TEST((now.drains.size() == 1 && now.drains.front().key == "n:99"));
    BOOST_TEST(now.numbers == count + 1);
    BOOST_TEST(now.last_used.contains("n:0"));
}

BOOST_FIXTURE_TEST_CASE(who_waited_and_was_killed_keeps_the_file_no_longer, Upgrade)
{
    for (Child &waiter : waiters) {
        BOOST_TEST(is_version_1());
        waiter.kill();
        waiter.wait();
    }
    BOOST_TEST(list().entries.size() == count);
    BOOST_TEST(!is_version_1());
    BOOST_TEST(parse_lease_file(state()).state.allocations.size() == count);
}

BOOST_AUTO_TEST_SUITE_END()
