// SPDX-License-Identifier: Apache-2.0
//
// nvidia-devices-nvml ADDRESS… : asks NVIDIA's library (NVML) what it calls the instances (MIG) of the GPUs at these PCI
// addresses. nvidia-devices starts it where a request names one as the library alone does: it is static itself, and must
// not have the driver's code in a process that may do everything. The library is descriptor 4, and the answer goes to 3:
// a line "ADDRESS GPU-INDEX INDEX GPU-INSTANCE COMPUTE-INSTANCE UUID PROFILE" for each, and "end"; or a line that says what
// went wrong, and status 1. Nothing here is believed: see host/library_answer.h.
//
// It starts as nobody, in namespaces of its own, with the host's files, of which the loader takes the C library. When it
// says so by descriptor 5 it loses them: see limited_program.h. Nothing of the driver is loaded before that.
//
// Functions, numbers and sizes are those of NVIDIA's NVML API Reference Guide. Of the C++ library only headers are used.
#include <dlfcn.h>
#include <sched.h>
#include <seccomp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

constexpr int answer_file = 3;
constexpr int gate = 5;
constexpr const char *library_path = "/proc/self/fd/4";

/** Of the C library and the compiler, what the driver's library needs, or the C library itself where a thread ends. */
constexpr std::array own_libraries{"libm.so.6", "libdl.so.2", "libpthread.so.0", "librt.so.1",
                                   "libgcc_s.so.1"};

using Device = void *;
using Result = int; // nvmlReturn_t

// Of nvmlReturn_t.
constexpr Result success = 0;
constexpr Result not_supported = 3;
constexpr Result not_found = 6;

constexpr unsigned text_size = 96; // NVML_DEVICE_UUID_V2_BUFFER_SIZE, NVML_DEVICE_NAME_V2_BUFFER_SIZE
constexpr const char *name_before_profile = " MIG ";

struct Library {
    Result (*init)();
    Result (*by_address)(const char *address, Device *device);
    Result (*index)(Device device, unsigned *index);
    Result (*max_instances)(Device device, unsigned *count);
    Result (*instance)(Device device, unsigned index, Device *instance);
    Result (*gpu_instance)(Device instance, unsigned *number);
    Result (*compute_instance)(Device instance, unsigned *number);
    Result (*uuid)(Device device, char *text, unsigned size);
    Result (*name)(Device device, char *text, unsigned size);
};

bool fail(const char *what, const char *why)
{
    dprintf(answer_file, "%s: %s\n", what, why);
    return false;
}

struct Reason {
    Result result;
    const char *words; ///< NVIDIA's own, and what to do
};

constexpr std::array reasons{
    Reason{4, "no permission: the driver's nodes in /dev have to be for everybody (0666)"},
    Reason{9, "driver not loaded: load it on the host (modprobe nvidia), and look into its kernel's log if "
              "it does not stay"},
    Reason{12, "library not found: install all of the driver's files of one version"},
    Reason{15, "GPU is lost: restart the host"},
    Reason{18, "library and driver of different versions: restart the host, or load the new module"},
};

/** @return whether it went well; says so if not */
bool succeeds(const char *what, Result result)
{
    if (result == success)
        return true;
    for (const Reason &reason : reasons)
        if (reason.result == result) {
            dprintf(answer_file, "%s gives %d, %s\n", what, result, reason.words);
            return false;
        }
    dprintf(answer_file, "%s gives %d\n", what, result);
    return false;
}

template<typename Function> bool find(void *library, const char *name, Function &function)
{
    void *const found = dlsym(library, name);
    if (found == nullptr)
        return fail(name, "not in the library");
    static_assert(sizeof(found) == sizeof(function));
    std::memcpy(&function, &found, sizeof(function));
    return true;
}

/** The same for what drivers before 450 do not have. */
template<typename Function> bool find_newer(void *library, const char *name, Function &function)
{
    return dlsym(library, name) != nullptr ? find(library, name, function)
                                           : fail("this driver knows no instances", name);
}

bool load(Library &library)
{
    void *const file = dlopen(library_path, RTLD_NOW | RTLD_LOCAL);
    if (file == nullptr)
        return fail("the library cannot be loaded", dlerror());
    return find(file, "nvmlInit_v2", library.init) &&
           find(file, "nvmlDeviceGetHandleByPciBusId_v2", library.by_address) &&
           find(file, "nvmlDeviceGetIndex", library.index) &&
           find_newer(file, "nvmlDeviceGetMaxMigDeviceCount", library.max_instances) &&
           find_newer(file, "nvmlDeviceGetMigDeviceHandleByIndex", library.instance) &&
           find_newer(file, "nvmlDeviceGetGpuInstanceId", library.gpu_instance) &&
           find_newer(file, "nvmlDeviceGetComputeInstanceId", library.compute_instance) &&
           find(file, "nvmlDeviceGetUUID", library.uuid) && find(file, "nvmlDeviceGetName", library.name);
}

/** "NVIDIA Example 48 MIG 1g.10gb" */
const char *profile_of(const char *name)
{
    const char *found = "-";
    for (const char *next = name; (next = std::strstr(next, name_before_profile)) != nullptr;) {
        next += std::strlen(name_before_profile);
        found = next;
    }
    return found;
}

struct Place {
    const char *address;
    unsigned gpu_index;
    unsigned index;
};

bool print_instance(const Library &library, const Place &place, Device instance)
{
    unsigned gpu_instance = 0;
    unsigned compute_instance = 0;
    std::array<char, text_size + 1> uuid{};
    std::array<char, text_size + 1> name{};
    if (!succeeds("nvmlDeviceGetGpuInstanceId", library.gpu_instance(instance, &gpu_instance)) ||
        !succeeds("nvmlDeviceGetComputeInstanceId", library.compute_instance(instance, &compute_instance)) ||
        !succeeds("nvmlDeviceGetUUID", library.uuid(instance, uuid.data(), text_size)) ||
        !succeeds("nvmlDeviceGetName", library.name(instance, name.data(), text_size)))
        return false;
    dprintf(answer_file, "%s %u %u %u %u %s %s\n", place.address, place.gpu_index, place.index, gpu_instance,
            compute_instance, uuid.data(), profile_of(name.data()));
    return true;
}

bool print_gpu(const Library &library, const char *address)
{
    Device device = nullptr;
    Place place{address, 0, 0};
    unsigned count = 0;
    if (!succeeds("nvmlDeviceGetHandleByPciBusId_v2", library.by_address(address, &device)) ||
        !succeeds("nvmlDeviceGetIndex", library.index(device, &place.gpu_index)))
        return false;
    const Result divided = library.max_instances(device, &count);
    if (divided == not_supported)
        return true;
    if (!succeeds("nvmlDeviceGetMaxMigDeviceCount", divided))
        return false;
    for (; place.index < count; ++place.index) {
        Device instance = nullptr;
        const Result result = library.instance(device, place.index, &instance);
        if (result == not_found)
            continue;
        if (!succeeds("nvmlDeviceGetMigDeviceHandleByIndex", result) ||
            !print_instance(library, place, instance))
            return false;
    }
    return true;
}

/** NVIDIA's library takes a small part of either. The kernel counts the threads of all of nobody's on the host. */
bool limit_memory_and_threads()
{
    constexpr rlim_t max_memory = rlim_t{4} << 30; // bytes of addresses
    constexpr rlim_t max_threads = 4096;
    const auto limit = [](auto what, rlim_t value) {
        rlimit both{};
        if (getrlimit(what, &both) != 0)
            return false;
        both.rlim_cur = both.rlim_max = std::min(both.rlim_max, value);
        return setrlimit(what, &both) == 0;
    };
    return (limit(RLIMIT_AS, max_memory) && limit(RLIMIT_NPROC, max_threads)) ||
           fail("setrlimit", strerror(errno));
}

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

/**
 * Has the kernel deny this process what no query of NVIDIA's library needs: sockets, signals to others, other processes,
 * also of its own, and their memory, mounts, namespaces, programs, keys, BPF, io_uring, memory that no limit counts, and
 * calls that libseccomp does not know yet. Everything else stays allowed: which calls the next driver's library makes is
 * not known. To be called by a process with one thread.
 * @return 0, or an error number
 */
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

/** Until this returns nothing of the driver is here. */
bool be_shut_in()
{
    // Others may run as nobody on this host, too, and are not to tell this process what it says.
    if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0)
        return fail("prctl", strerror(errno));
    // What is not there is not needed; or else the driver's library cannot be loaded, and says so.
    for (const char *name : own_libraries)
        dlopen(name, RTLD_NOW | RTLD_LOCAL);
    char byte = 0;
    ssize_t count = write(gate, &byte, 1);
    while (count == 1 && (count = read(gate, &byte, 1)) < 0 && errno == EINTR)
        count = 1;
    close(gate);
    if (count != 1)
        return fail("it is not shut in", "and loads nothing");
    if (!limit_memory_and_threads())
        return false;
    const int error = deny_what_no_query_needs();
    return error == 0 || fail("the kernel takes no filter of system calls", strerror(error));
}

} // namespace

int main(int argc, char **argv)
{
    Library library{};
    if (!be_shut_in() || !load(library) || !succeeds("nvmlInit_v2", library.init()))
        return 1;
    for (int i = 1; i < argc; ++i) {
        if (!print_gpu(library, argv[i]))
            return 1;
    }
    dprintf(answer_file, "end\n");
    // Without nvmlShutdown, and without what the library wants done at the end: nothing of it is needed any more.
    _Exit(0);
}
