// SPDX-License-Identifier: Apache-2.0
#include "kernel/awaited_path.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <climits>
#include <sstream>

#include "base/error.h"
#include "base/file.h"
#include "base/unique_fd.h"

namespace ogh {

namespace {

/** Calls whose first two arguments are a folder's descriptor and a path. */
constexpr auto calls_by_path = std::to_array<long>(
    {SYS_openat2, SYS_openat, SYS_statx, SYS_newfstatat, SYS_readlinkat, SYS_faccessat, SYS_faccessat2,
     SYS_open_tree, SYS_mkdirat, SYS_mknodat, SYS_unlinkat, SYS_fchownat, SYS_fchmodat, SYS_move_mount});

/** Calls whose first argument is a descriptor, and that may wait for its filesystem. */
constexpr auto calls_by_descriptor = std::to_array<long>(
    {SYS_read,         SYS_readv,           SYS_pread64, SYS_write,      SYS_writev,     SYS_pwrite64,
     SYS_close,        SYS_fstat,           SYS_fstatfs, SYS_getdents64, SYS_lseek,      SYS_fcntl,
     SYS_ioctl,        SYS_flock,           SYS_fsync,   SYS_fdatasync,  SYS_ftruncate,  SYS_fallocate,
     SYS_fchmod,       SYS_fchown,          SYS_fchdir,  SYS_fgetxattr,  SYS_flistxattr, SYS_fsetxattr,
     SYS_sendfile,     SYS_copy_file_range, SYS_linkat,  SYS_renameat,   SYS_renameat2,  SYS_utimensat,
     SYS_mount_setattr});

struct Call {
    long number = 0;
    unsigned long first = 0;
    unsigned long second = 0;
};

template<size_t Count> bool is_one_of(const std::array<long, Count> &calls, long number)
{
    return std::find(calls.begin(), calls.end(), number) != calls.end();
}

std::string folder_of(pid_t pid)
{
    return "/proc/" + std::to_string(pid) + "/";
}

UniqueFd open_file(const std::string &path)
{
    return UniqueFd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
}

std::optional<Call> call_of(pid_t pid)
{
    constexpr size_t limit = 4096;
    const UniqueFd fd = open_file(folder_of(pid) + "syscall");
    if (!fd.valid())
        return std::nullopt;
    std::istringstream text(read_all(fd.get(), limit, "the system call of a process"));
    Call call;
    // "NUMBER 0xARGUMENT …"; or "running", or "-1 …" of a process that waits outside of a call.
    text >> call.number >> std::hex >> call.first >> call.second;
    return text.fail() || call.number < 0 ? std::nullopt : std::optional(call);
}

/** The text that ends with a NUL at `address`; nothing if it cannot be read. */
std::optional<std::string> text_at(pid_t pid, unsigned long address)
{
    const UniqueFd memory = open_file(folder_of(pid) + "mem");
    std::array<char, 256> text{}; // a longer path is cut
    if (!memory.valid() ||
        ::pread(memory.get(), text.data(), text.size() - 1, static_cast<off_t>(address)) < 1)
        return std::nullopt;
    return std::string(text.data());
}

/** Where the descriptor leads; nothing if it is none, or no file. */
std::optional<std::string> path_of(pid_t pid, unsigned long descriptor)
{
    std::array<char, PATH_MAX> path{};
    const std::string link = folder_of(pid) + "fd/" + std::to_string(descriptor);
    const ssize_t length = ::readlink(link.c_str(), path.data(), path.size());
    if (length < 1 || path[0] != '/')
        return std::nullopt;
    return std::string(path.data(), static_cast<size_t>(length));
}

/** `path` below `folder`; also one that begins with a `/`, for openat2 with RESOLVE_IN_ROOT takes it so. */
std::string joined(const std::string &folder, const std::string &path)
{
    const size_t start = path.find_first_not_of('/');
    if (start == std::string::npos)
        return folder;
    return (folder.ends_with('/') ? folder : folder + "/") + path.substr(start);
}

} // namespace

std::optional<std::string> awaited_path(pid_t pid)
try {
    const auto call = call_of(pid);
    if (!call)
        return std::nullopt;
    const bool by_path = is_one_of(calls_by_path, call->number);
    // Any other has something else in its registers, which may look like the number of a descriptor.
    if (!by_path && !is_one_of(calls_by_descriptor, call->number))
        return std::nullopt;
    const auto path = by_path ? text_at(pid, call->second) : std::string();
    if (!path)
        return std::nullopt;
    if (static_cast<int>(call->first) == AT_FDCWD)
        return joined("/", *path); // where set_up_process() has put it
    const auto folder = path_of(pid, call->first);
    return folder ? std::optional(joined(*folder, *path)) : std::nullopt;
} catch (const Error &) {
    return std::nullopt; // it may have ended meanwhile
}

} // namespace ogh
