// SPDX-License-Identifier: Apache-2.0
#include "seccomp.h"

#include <sys/prctl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>

#include <array>
#include <cstddef>
#include <cstdint>

#include "child.h"

namespace ogh::test {

namespace {

void install(const sock_fprog &program)
{
    check_call(::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no new privileges");
    check_call(::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program), "seccomp");
}

} // namespace

void refuse_call(long number, int error_number)
{
    // Processes of one architecture only are forked here, so the number says it all.
    std::array<sock_filter, 4> steps{{
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<std::uint32_t>(number), 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | static_cast<std::uint32_t>(error_number)),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    }};
    install({static_cast<unsigned short>(steps.size()), steps.data()});
}

void refuse_call_with(long number, int error_number, unsigned index, std::uint32_t value)
{
    const auto argument = static_cast<std::uint32_t>(offsetof(seccomp_data, args) + 8U * index);
    std::array<sock_filter, 6> steps{{
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<std::uint32_t>(number), 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, argument),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | static_cast<std::uint32_t>(error_number)),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    }};
    install({static_cast<unsigned short>(steps.size()), steps.data()});
}

} // namespace ogh::test
