// SPDX-License-Identifier: Apache-2.0
#include "kernel/process.h"

#include <cap-ng.h>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <iterator>
#include <string>

#include "base/error.h"
#include "build_config.h"

namespace ogh {

namespace {

/** A file opened later must never become descriptor 0, 1 or 2; what the runtime leaked is closed. */
void set_up_descriptors()
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd) {
        if (::fcntl(fd, F_GETFD) >= 0)
            continue;
        // The lowest free number is `fd`; it stays open for good, so it has no owner and no O_CLOEXEC.
        if (::open("/dev/null", O_RDWR) < 0)
            throw SystemError(errno, "cannot open '/dev/null'", ErrorKind::BrokenHost);
    }
    if (::close_range(STDERR_FILENO + 1, ~0U, 0) != 0)
        throw SystemError(errno, "cannot close inherited descriptors (close_range)", ErrorKind::BrokenHost);
}

/** crun starts hooks with every signal blocked; ignored ones are inherited too. */
void set_up_signals()
{
    sigset_t none;
    ::sigemptyset(&none);
    for (int number = 1; number < NSIG; ++number)
        ::signal(number, SIG_DFL); // refused for SIGKILL, SIGSTOP and the C library's own
    ::signal(SIGPIPE, SIG_IGN);    // a runtime that closed the pipe must not end the hook half-way
    ::signal(SIGXFSZ, SIG_IGN);    // nor a limit of the engine's for files (RLIMIT_FSIZE): the write fails
    if (::sigprocmask(SIG_SETMASK, &none, nullptr) != 0)
        throw SystemError(errno, "cannot unblock signals");
}

void refuse_loader_variables()
{
#if !OGH_STATIC
    for (const char *name : {"LD_PRELOAD", "LD_LIBRARY_PATH", "LD_AUDIT"}) {
        // Too late to protect, since the loader has acted on it; but never silent.
        if (::getenv(name) != nullptr)
            throw Error(ErrorKind::Failure,
                        std::string("started with ") + name +
                            " in the environment: the hook's entry needs its own 'env', see "
                            "oci-gpu-hooks(7)");
    }
#endif
}

constexpr auto permitted_and_effective = static_cast<capng_type_t>(CAPNG_EFFECTIVE | CAPNG_PERMITTED);

/**
 * libcap-ng remembers what it has read or set, and for whom: 0 is whoever asks, a child made by clone(2) as well. It asks
 * the kernel by itself where it remembers nothing.
 */
bool has(capng_type_t set, unsigned capability)
{
    ::capng_setpid(0);
    return ::capng_have_capability(set, capability) != 0;
}

/** Asks the kernel, and /proc by its path: never in a container. While this process acts as another user fewer are effective. */
void read_capabilities()
{
    ::capng_setpid(0);
    if (::capng_get_caps_process() != 0)
        throw SystemError(errno, "cannot read this process's capabilities");
}

void set_capabilities(capng_select_t sets, const char *failure)
{
    if (::capng_apply(sets) != 0)
        throw SystemError(errno, failure);
}

/** Not by libcap-ng: it goes by /proc, which a hook of createContainer has not, and does not say what it leaves. */
void empty_bounding_set()
{
    for (unsigned long capability = 0; ::prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) == 0;)
        ++capability;
    if (errno != EINVAL) // beyond the last one that this kernel knows
        throw SystemError(errno, "cannot empty the capability bounding set");
}

/** As people know it: "CAP_SYS_ADMIN". */
std::string capability_name(unsigned capability)
{
    const char *const name = ::capng_capability_to_name(capability);
    std::string upper = name != nullptr ? std::string("cap_") + name : std::to_string(capability);
    std::transform(upper.begin(), upper.end(), upper.begin(),
                   [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
    return upper;
}

} // namespace

void set_up_process()
{
    set_up_descriptors();
    refuse_loader_variables();
    ::clearenv();
    if (::chdir("/") != 0)
        throw SystemError(errno, "cannot change to '/'", ErrorKind::BrokenHost);
    set_up_signals();
    ::umask(022);
    // Inside the container's namespace a process of the container must not trace us or read our descriptors.
    if (::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0 || ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        throw SystemError(errno, "cannot restrict this process (prctl)");
}

void limit_capabilities(const std::vector<unsigned> &kept)
{
    read_capabilities();
    std::vector<unsigned> held;
    std::copy_if(kept.begin(), kept.end(), std::back_inserter(held),
                 [](unsigned capability) { return has(CAPNG_PERMITTED, capability); });
    // Not of an ordinary user: --help or --plan. libcap-ng would complain to syslog.
    const bool may_empty_bounding_set = has(CAPNG_EFFECTIVE, CAP_SETPCAP);
    ::capng_clear(CAPNG_SELECT_ALL);
    for (const unsigned capability : held)
        ::capng_update(CAPNG_ADD, permitted_and_effective, capability);
    if (may_empty_bounding_set)
        empty_bounding_set(); // first: it needs CAP_SETPCAP
    set_capabilities(static_cast<capng_select_t>(CAPNG_SELECT_CAPS | CAPNG_SELECT_AMBIENT),
                     "cannot reduce this process's capabilities");
}

void drop_capabilities(const std::vector<unsigned> &dropped)
{
    for (const unsigned capability : dropped)
        if (has(CAPNG_PERMITTED, capability))
            ::capng_update(CAPNG_DROP, permitted_and_effective, capability);
    set_capabilities(CAPNG_SELECT_CAPS, "cannot give up capabilities");
}

void set_effective(unsigned capability, bool effective)
{
    read_capabilities();
    if (!has(CAPNG_PERMITTED, capability))
        return;
    ::capng_update(effective ? CAPNG_ADD : CAPNG_DROP, CAPNG_EFFECTIVE, capability);
    set_capabilities(CAPNG_SELECT_CAPS, "cannot change this process's effective capabilities");
}

void require_capabilities(const std::vector<unsigned> &needed, const char *purpose)
{
    std::string missing;
    for (const unsigned capability : needed) {
        if (!has(CAPNG_EFFECTIVE, capability))
            missing += (missing.empty() ? "" : ", ") + capability_name(capability);
    }
    if (!missing.empty())
        throw Error(ErrorKind::BrokenHost,
                    std::string(purpose) + " needs " + missing + ", which this process lacks");
}

void raise_open_files_limit()
{
    rlimit limit{};
    if (::getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return;
    limit.rlim_cur = limit.rlim_max;
    ::setrlimit(RLIMIT_NOFILE, &limit); // where it fails, running out of descriptors is said when it happens
}

} // namespace ogh
