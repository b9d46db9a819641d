// SPDX-License-Identifier: Apache-2.0
#include "lease_host.h"

#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <utility>

#include "base/error.h"
#include "base/exit_status.h"
#include "child.h"
#include "lease/presence/processes.h"
#include "lease/state/lease_file.h"

namespace ogh::test {

namespace {

constexpr const char *as_init = "--as-init";

/** The program begins at another address each time; what is in it has the same distances. */
std::uintptr_t beginning()
{
    return reinterpret_cast<std::uintptr_t>(&Init::begin);
}

} // namespace

Init::Init(Kind kind)
{
    start(kind, {"/bin/sleep", "infinity"});
}

Init::Init(Program program, std::vector<std::string> words)
{
    const std::string distance = std::to_string(reinterpret_cast<std::uintptr_t>(program) - beginning());
    words.insert(words.begin(), {"/proc/self/exe", as_init, distance});
    start(Kind::Started, words);
}

void Init::begin(int argc, char **argv)
{
    const std::vector<std::string> words(argv, argv + argc);
    if (words.size() < 3 || words[1] != as_init)
        return;
    // NOLINTNEXTLINE(performance-no-int-to-ptr)
    const auto program = reinterpret_cast<Program>(beginning() + std::stoull(words[2]));
    program({words.begin() + 3, words.end()});
    for (;;)
        ::pause();
}

void Init::start(Kind kind, const std::vector<std::string> &program)
{
    std::vector<char *> words;
    for (const std::string &word : program)
        words.push_back(const_cast<char *>(word.c_str()));
    words.push_back(nullptr);
    const UniqueFd parent(static_cast<int>(::syscall(SYS_pidfd_open, ::getpid(), 0)));
    const unsigned long flags = SIGCHLD | (kind == Kind::Joined ? 0UL : CLONE_NEWPID);
    pid_ = static_cast<pid_t>(::syscall(SYS_clone, flags, nullptr, nullptr, nullptr, nullptr));
    check_call(pid_, "clone");
    while (pid_ > 0 && kind == Kind::Started &&
           has_executed_nothing(Processes().read(pid_, "stat").value_or("")))
        ::usleep(1000);
    if (pid_ > 0)
        return;
    ::prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    if (has_ended(parent.get()))
        ::_exit(1); // before it could be asked for a signal
    if (kind == Kind::Started)
        ::execv(words.front(), words.data());
    for (;;)
        ::pause();
}

Init::Init(Init &&other) noexcept : pid_(std::exchange(other.pid_, -1)) {}

Init &Init::operator=(Init &&other) noexcept
{
    if (this != &other) {
        end();
        pid_ = std::exchange(other.pid_, -1);
    }
    return *this;
}

void Init::end() noexcept
{
    if (pid_ > 0) {
        ::kill(pid_, SIGKILL);
        ::waitpid(pid_, nullptr, 0);
    }
    pid_ = -1;
}

std::string LeaseHost::state() const
{
    std::ifstream file(state_path()); // once: it may be another one a moment later
    return {std::istreambuf_iterator<char>(file), {}};
}

LeaseState LeaseHost::lease_state() const
{
    const std::string text = state();
    return text.empty() ? LeaseState{} : parse_lease_file(text).state;
}

bool LeaseHost::has_ticket(std::uint64_t number) const
{
    const auto tickets = lease_state().tickets;
    return std::any_of(tickets.begin(), tickets.end(),
                       [&](const Ticket &one) { return one.number == number; });
}

void LeaseHost::write_state(const std::string &text) const
{
    std::ofstream(state_path()) << text;
}

LeaseRequest LeaseHost::request(const Init &init, std::vector<LeaseKey> keys, LeaseMode mode)
{
    LeaseRequest request;
    request.init = init.pid();
    request.container = "container-" + std::to_string(init.pid());
    request.demand = {std::move(keys), 0, {}, mode};
    request.runtime = ::getppid();
    return request;
}

int LeaseHost::take(const LeaseRequest &request) const
{
    return static_cast<int>(exit_status(refusal(request).kind));
}

Failure LeaseHost::refusal(const LeaseRequest &request) const
{
    return failure_of([&] {
        Leases here{Sysroot(path())};
        here.take(request).keep();
    });
}

} // namespace ogh::test
