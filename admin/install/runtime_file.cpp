// SPDX-License-Identifier: Apache-2.0
#include "install/runtime_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string_view>

#include "base/error.h"
#include "base/file.h"
#include "base/path_names.h"
#include "base/text.h"
#include "engines/programs.h"
#include "kernel/openat2.h"

namespace ogh::admin {

namespace {

using Kind = RuntimeFile::Kind;

constexpr std::array vendors_runtimes = {"nvidia-container-runtime", "nvidia-container-runtime.real",
                                         "amd-container-runtime"};

constexpr size_t max_runtime = size_t{64} << 20U;

/** Opens a plain file for reading. */
UniqueFd open_runtime(const Sysroot &sysroot, const std::string &path)
{
    const auto directory = sysroot.find(directory_of(path));
    if (!directory)
        throw SystemError(ENOENT, "cannot open " + quote(path));
    return open_path(directory->fd.get(), file_name_of(path), O_RDONLY | O_NONBLOCK, Walk::Beneath,
                     quote(path));
}

RuntimeFile look_at_content(int fd, const std::string &path)
{
    constexpr std::string_view elf_magic("\x7f"
                                         "ELF");
    std::array<char, elf_magic.size()> bytes{};
    const ssize_t length = ::pread(fd, bytes.data(), bytes.size(), 0);
    if (length < 0)
        throw SystemError(errno, "cannot read " + quote(path));
    const std::string_view begin(bytes.data(), static_cast<size_t>(length));
    if (begin == elf_magic)
        return {Kind::Program, "is a program"};
    if (begin.starts_with("#!"))
        return {Kind::Script, "is a script"};
    return {Kind::Other, "is neither a program nor a script"};
}

} // namespace

RuntimeFile look_at_runtime(const Sysroot &sysroot, const std::string &path)
{
    const RuntimeFile absent{Kind::Absent, "is not there"};
    const auto directory = sysroot.find(directory_of(path));
    if (!directory)
        return absent;
    const std::string name = file_name_of(path);
    struct stat status {};
    if (::fstatat(directory->fd.get(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) {
        if (errno == ENOENT)
            return absent;
        throw SystemError(errno, "cannot look at " + quote(path));
    }
    if (S_ISLNK(status.st_mode))
        return {Kind::Link, "is a symlink to " + quote(read_link(directory->fd.get(), name, quote(path)))};
    if (!S_ISREG(status.st_mode))
        return {Kind::Other, "is neither a program nor a script"};
    return look_at_content(open_runtime(sysroot, path).get(), path);
}

std::string read_runtime(const Sysroot &sysroot, const std::string &path)
{
    return read_all(open_runtime(sysroot, path).get(), max_runtime, quote(path));
}

std::optional<std::string> find_vendors_runtime(const Sysroot &sysroot, const std::string &path)
{
    const std::string text = read_runtime(sysroot, path);
    for (const char *const name : vendors_runtimes)
        for (const char *const directory : program_directories()) {
            const auto place = sysroot.find(path_in(directory, name));
            if (place && look_at_runtime(sysroot, place->path).kind == Kind::Program &&
                read_runtime(sysroot, place->path) == text)
                return place->path;
        }
    return std::nullopt;
}

} // namespace ogh::admin
