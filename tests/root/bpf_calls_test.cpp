// SPDX-License-Identifier: Apache-2.0
//
// What the kernel is given by bpf(2), and what it writes where.
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <linux/bpf.h>

#include <array>
#include <set>

#include <boost/test/unit_test.hpp>

#include "stepped.h"
#include "support/device_programs.h"
#include "version2.h"

BOOST_AUTO_TEST_SUITE(bpf_calls)

using namespace ogh;
using namespace ogh::test;

namespace {

using Bytes = std::array<unsigned char, 64>;

/** A call of bpf(2) on which a process stands. */
struct Call {
    std::uint64_t command = 0;
    std::uint64_t end = 0; ///< the address behind the attr, as long as the caller says that it is
    std::uint64_t size = 0;
};

Call call_of(pid_t pid)
{
    __ptrace_syscall_info info{};
    check_call(::ptrace(PTRACE_GET_SYSCALL_INFO, pid, sizeof info, &info), "ptrace");
    const auto &args = info.entry.args;
    return {args[0], args[1] + args[2], args[2]};
}

Bytes read_from(pid_t pid, std::uint64_t address)
{
    Bytes bytes{};
    const iovec here{bytes.data(), bytes.size()};
    const iovec there{reinterpret_cast<void *>(static_cast<std::uintptr_t>(address)), bytes.size()};
    check_call(::process_vm_readv(pid, &here, 1, &there, 1, 0), "process_vm_readv");
    return bytes;
}

} // namespace

/** From Linux 6.17 to before 7.2, BPF_PROG_QUERY writes 8 bytes at offset 56, whatever size it is given. */
BOOST_FIXTURE_TEST_CASE(the_kernel_gets_the_whole_attr_and_writes_nothing_behind_it, Version2)
{
    const UniqueFd none = put(like_runc(usual_lines()));
    start_in(own);
    std::set<std::uint64_t> commands;
    Call call;
    Bytes canary{};
    const auto before = [&](const Step &step) {
        if (step.number != SYS_bpf)
            return;
        call = call_of(step.pid);
        canary = read_from(step.pid, call.end);
        commands.insert(call.command);
        BOOST_TEST(call.size == sizeof(bpf_attr), "command " << call.command);
    };
    const auto after = [&](const Step &step) {
        if (step.number == SYS_bpf)
            BOOST_TEST((read_from(step.pid, call.end) == canary), "command " << call.command);
    };
    const auto work = [&] {
        allow_and_keep(rules);
        return std::string("allowed");
    };
    BOOST_TEST(in_stepped_child(work, SYS_bpf, before, after) == (Outcome{0, "allowed"}));
    for (const auto command : {BPF_PROG_QUERY, BPF_PROG_LOAD, BPF_PROG_ATTACH, BPF_OBJ_GET_INFO_BY_FD})
        BOOST_TEST(commands.contains(command), "command " << command);
}

BOOST_AUTO_TEST_SUITE_END()
