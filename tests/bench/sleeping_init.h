// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <csignal>
#include <stdexcept>

namespace ogh::bench {

/** The first process of a pid namespace of its own, which sleeps until this one ends. @throws std::runtime_error */
inline pid_t start_init()
{
    const auto pid = static_cast<pid_t>(::syscall(SYS_clone, SIGCHLD | CLONE_NEWPID, 0, 0, 0, 0));
    if (pid < 0)
        throw std::runtime_error("cannot make a pid namespace: this takes root");
    if (pid > 0)
        return pid;
    ::prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    for (;;)
        ::pause();
}

} // namespace ogh::bench
