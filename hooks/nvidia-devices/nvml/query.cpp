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
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "nvidia-devices/nvml/filter.h"

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
    const int error = ogh::nvidia_devices::deny_what_no_query_needs();
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
