// SPDX-License-Identifier: Apache-2.0
#include "kernel/process.h"

#include <fcntl.h>
#include <malloc.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <linux/capability.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdlib>
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

void empty_bounding_set()
{
    for (unsigned long capability = 0; ::prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) == 0;)
        ++capability;
    // EINVAL: beyond the last one that this kernel knows. EPERM: an ordinary user, --help or --plan.
    if (errno != EINVAL && errno != EPERM)
        throw SystemError(errno, "cannot empty the capability bounding set");
}

/** What is free at the end of the heap is not given back to the kernel, and asked for again, within the same millisecond. */
void keep_memory()
{
    constexpr int enough = 1 << 20;
    ::mallopt(M_TRIM_THRESHOLD, enough);
}

/** A bit for each capability. */
using CapabilityMask = std::uint64_t;

constexpr CapabilityMask mask_of(unsigned capability)
{
    return CapabilityMask{1} << capability;
}

CapabilityMask mask_of(const std::vector<unsigned> &capabilities)
{
    CapabilityMask mask = 0;
    for (const unsigned capability : capabilities)
        mask |= mask_of(capability);
    return mask;
}

struct CapabilitySets {
    CapabilityMask effective = 0;
    CapabilityMask permitted = 0;
};

/** As capget(2) and capset(2), which the C library does not wrap, have them: the lower 32 bits first. */
using CapabilityData = std::array<__user_cap_data_struct, _LINUX_CAPABILITY_U32S_3>;
constexpr unsigned lower_bits = 32;

/** While the process acts as another user, fewer may be effective than it has for its own. */
CapabilitySets own_capabilities()
{
    __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
    CapabilityData data{};
    if (::syscall(SYS_capget, &header, data.data()) != 0)
        throw SystemError(errno, "cannot read this process's capabilities");
    return {CapabilityMask{data[1].effective} << lower_bits | data[0].effective,
            CapabilityMask{data[1].permitted} << lower_bits | data[0].permitted};
}

/** Makes `sets` this process's own. None is inheritable then, and so none ambient. */
bool set_capabilities(const CapabilitySets &sets)
{
    __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
    CapabilityData data{};
    for (unsigned word = 0; word < data.size(); ++word) {
        data[word].effective = static_cast<std::uint32_t>(sets.effective >> (word * lower_bits));
        data[word].permitted = static_cast<std::uint32_t>(sets.permitted >> (word * lower_bits));
    }
    return ::syscall(SYS_capset, &header, data.data()) == 0;
}

/** As people know it: of what require_capabilities() is called with. */
std::string capability_name(unsigned capability)
{
    switch (capability) {
    case CAP_MKNOD:
        return "CAP_MKNOD";
    case CAP_SYS_ADMIN:
        return "CAP_SYS_ADMIN";
    case CAP_SYS_CHROOT:
        return "CAP_SYS_CHROOT";
    case CAP_SYS_PTRACE:
        return "CAP_SYS_PTRACE";
    default:
        return "capability " + std::to_string(capability);
    }
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
    keep_memory();
    ::umask(022);
    // Inside the container's namespace a process of the container must not trace us or read our descriptors.
    if (::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0 || ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        throw SystemError(errno, "cannot restrict this process (prctl)");
}

void limit_capabilities(const std::vector<unsigned> &kept)
{
    empty_bounding_set(); // first: it needs CAP_SETPCAP
    const CapabilityMask held = mask_of(kept) & own_capabilities().permitted;
    if (!set_capabilities({held, held}))
        throw SystemError(errno, "cannot reduce this process's capabilities");
}

void drop_capabilities(const std::vector<unsigned> &dropped)
{
    const CapabilityMask left = ~mask_of(dropped);
    const CapabilitySets own = own_capabilities();
    if (!set_capabilities({own.effective & left, own.permitted & left}))
        throw SystemError(errno, "cannot give up capabilities");
}

void set_effective(unsigned capability, bool effective)
{
    CapabilitySets sets = own_capabilities();
    const CapabilityMask mask = mask_of(capability);
    if ((sets.permitted & mask) == 0)
        return;
    sets.effective = effective ? sets.effective | mask : sets.effective & ~mask;
    if (!set_capabilities(sets))
        throw SystemError(errno, "cannot change this process's effective capabilities");
}

void require_capabilities(const std::vector<unsigned> &needed, const char *purpose)
{
    const CapabilityMask effective = own_capabilities().effective;
    std::string missing;
    for (const unsigned capability : needed) {
        if ((effective & mask_of(capability)) == 0)
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
