// SPDX-License-Identifier: Apache-2.0
#include "nvidia-devices/nvml/filter.h"

#include <sched.h>
#include <seccomp.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>

namespace ogh::nvidia_devices {

namespace {

/** seccomp(2) says EPERM to these. What libseccomp, or this machine, does not know cannot be called by its name. */
constexpr std::array denied{
    // Others, by the network or on this host.
    "socket", "socketpair", "socketcall",
    // Other processes. tgkill stands below: abort(3) needs it.
    "kill", "tkill", "rt_sigqueueinfo", "rt_tgsigqueueinfo", "pidfd_open", "pidfd_getfd", "pidfd_send_signal",
    "ptrace", "process_vm_readv", "process_vm_writev", "process_madvise", "process_mrelease", "kcmp",
    "move_pages", "migrate_pages", "perf_event_open", "userfaultfd",
    // Another view of the host. clone and clone3 stand below.
    "unshare", "setns", "chroot", "pivot_root", "mount", "umount", "umount2", "open_tree", "move_mount",
    "fsopen", "fsconfig", "fsmount", "fspick", "mount_setattr", "name_to_handle_at", "open_by_handle_at",
    "fanotify_init", "swapon", "swapoff", "quotactl", "quotactl_fd",
    // Programs: there is none. fork and vfork go with clone, below.
    "execve", "execveat", "fork", "vfork",
    // Out of the group of processes that is ended, where there is no PID namespace.
    "setsid", "setpgid",
    // Memory that no limit of a process counts.
    "shmget", "semget", "msgget", "ipc",
    // The kernel itself.
    "bpf", "io_uring_setup", "io_uring_enter", "io_uring_register", "add_key", "request_key", "keyctl",
    "init_module", "finit_module", "delete_module", "kexec_load", "kexec_file_load", "reboot", "syslog",
    "acct", "iopl", "ioperm", "settimeofday", "stime", "clock_settime", "clock_settime64", "clock_adjtime",
    "clock_adjtime64", "adjtimex", "sethostname", "setdomainname", "vhangup", "lookup_dcookie", "nfsservctl"};

constexpr int end_of_numbers = 1024; // of system calls; the kernel has less than 500

#if defined(__s390__)
constexpr unsigned clone_flags = 1; // the argument; clone(2), "C library/kernel differences"
#else
constexpr unsigned clone_flags = 0;
#endif

/** Rules are added until one cannot be. */
class Filter final {
public:
    Filter() : context_(seccomp_init(SCMP_ACT_ALLOW)), error_(context_ == nullptr ? -ENOMEM : 0) {}
    Filter(const Filter &) = delete;
    Filter &operator=(const Filter &) = delete;
    ~Filter() { seccomp_release(context_); }

    void deny(const char *name, int error = EPERM) { add(number_of(name), error, nullptr); }

    void deny_if(const char *name, const scmp_arg_cmp &argument) { add(number_of(name), EPERM, &argument); }

    /** What is newer than libseccomp is not there: a form of what is denied may be among it. */
    void deny_unknown()
    {
        for (int number = end_of_numbers; number-- > 0 && !is_known(number);)
            add(number, ENOSYS, nullptr);
    }

    /** @return 0, or an error number */
    int load()
    {
        if (error_ == 0)
            error_ = seccomp_load(context_);
        return -error_;
    }

private:
    static int number_of(const char *name) { return seccomp_syscall_resolve_name(name); }

    static bool is_known(int number)
    {
        char *const name = seccomp_syscall_resolve_num_arch(SCMP_ARCH_NATIVE, number);
        std::free(name);
        return name != nullptr;
    }

    void add(int number, int error, const scmp_arg_cmp *argument)
    {
        if (error_ == 0 && number >= 0)
            error_ = seccomp_rule_add_array(context_, SCMP_ACT_ERRNO(static_cast<unsigned>(error)), number,
                                            argument != nullptr ? 1U : 0U, argument);
    }

    scmp_filter_ctx context_;
    int error_;
};

} // namespace

int deny_what_no_query_needs()
{
    Filter filter;
    for (const char *name : denied)
        filter.deny(name);
    // Its flags lie in memory, where no filter sees them; the C library takes clone where there is none.
    filter.deny("clone3", ENOSYS);
    // A thread is in this process's namespaces.
    filter.deny_if("clone", {clone_flags, SCMP_CMP_MASKED_EQ, CLONE_THREAD, 0});
    filter.deny_if("tgkill", {0, SCMP_CMP_NE, static_cast<scmp_datum_t>(::getpid()), 0});
    filter.deny_unknown();
    return filter.load();
}

} // namespace ogh::nvidia_devices
