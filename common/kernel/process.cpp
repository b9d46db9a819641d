// SPDX-License-Identifier: Apache-2.0
#include "kernel/process.h"

#include <cap-ng.h>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <iterator>
#include <string>

#include "base/error.h"
#include "build_config.h"

namespace ogh {

namespace {

constexpr auto permitted_and_effective = static_cast<capng_type_t>(CAPNG_EFFECTIVE | CAPNG_PERMITTED);

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

/** By hand: libcap-ng reads /proc/self/status three times for it, which is a tenth of a short run. */
void empty_bounding_set()
{
    for (unsigned long capability = 0; ::prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) == 0;)
        ++capability;
    // EINVAL: beyond the last one that this kernel knows. EPERM: an ordinary user, --help or --plan.
    if (errno != EINVAL && errno != EPERM)
        throw SystemError(errno, "cannot empty the capability bounding set");
}

/** Makes `capabilities` the permitted and effective ones, and no others. */
bool set_capabilities(const std::vector<unsigned> &capabilities)
{
    ::capng_clear(CAPNG_SELECT_ALL);
    for (const unsigned capability : capabilities)
        ::capng_update(CAPNG_ADD, permitted_and_effective, capability);
    return ::capng_apply(static_cast<capng_select_t>(CAPNG_SELECT_CAPS | CAPNG_SELECT_AMBIENT)) == 0;
}

std::vector<unsigned> held_of(const std::vector<unsigned> &capabilities)
{
    std::vector<unsigned> held;
    if (::capng_get_caps_process() != 0)
        throw Error(ErrorKind::Failure, "cannot read this process's capabilities");
    std::copy_if(capabilities.begin(), capabilities.end(), std::back_inserter(held), [](unsigned capability) {
        return ::capng_have_capability(CAPNG_PERMITTED, capability) != 0;
    });
    return held;
}

std::string capability_name(unsigned capability)
{
    const char *name = ::capng_capability_to_name(capability);
    std::string upper = "CAP_";
    for (const char *c = name != nullptr ? name : "?"; *c != '\0'; ++c)
        upper += *c >= 'a' && *c <= 'z' ? static_cast<char>(*c - 'a' + 'A') : *c;
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
    empty_bounding_set(); // first: it needs CAP_SETPCAP
    if (!set_capabilities(kept) && !set_capabilities(held_of(kept)))
        throw Error(ErrorKind::Failure, "cannot reduce this process's capabilities");
}

void take_over_capabilities()
{
    ::capng_setpid(::getpid());
}

void drop_capabilities(const std::vector<unsigned> &dropped)
{
    for (const unsigned capability : dropped)
        ::capng_update(CAPNG_DROP, permitted_and_effective, capability);
    if (::capng_apply(CAPNG_SELECT_CAPS) != 0)
        throw Error(ErrorKind::Failure, "cannot give up capabilities");
}

void set_effective(unsigned capability, bool effective)
{
    if (::capng_have_capability(CAPNG_PERMITTED, capability) == 0)
        return;
    ::capng_update(effective ? CAPNG_ADD : CAPNG_DROP, CAPNG_EFFECTIVE, capability);
    if (::capng_apply(CAPNG_SELECT_CAPS) != 0)
        throw Error(ErrorKind::Failure, "cannot change this process's effective capabilities");
}

void require_capabilities(const std::vector<unsigned> &needed, const char *purpose)
{
    std::string missing;
    for (const unsigned capability : needed) {
        if (::capng_have_capability(CAPNG_EFFECTIVE, capability) == 0)
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
