// SPDX-License-Identifier: Apache-2.0
#include "engines/runtime_wrapper.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <climits>
#include <string_view>

#include "base/text.h"
#include "base/unique_fd.h"

namespace ogh::admin {

namespace {

constexpr std::string_view elf_magic = "\x7f"
                                       "ELF";

bool is_elf(int folder, const std::string &name)
{
    const UniqueFd fd(::openat(folder, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    struct stat status {};
    std::array<char, elf_magic.size()> magic{};
    return fd.valid() && ::fstat(fd.get(), &status) == 0 && S_ISREG(status.st_mode) &&
           ::pread(fd.get(), magic.data(), magic.size(), 0) == static_cast<ssize_t>(magic.size()) &&
           std::string_view(magic.data(), magic.size()) == elf_magic;
}

} // namespace

std::optional<Finding> check_runtime_program(const Sysroot &sysroot, const std::string &path)
{
    const size_t slash = path.rfind('/');
    const auto folder = sysroot.find(path.substr(0, slash));
    const std::string name = path.substr(slash + 1);
    std::array<char, PATH_MAX> target{};
    struct stat status {};
    if (!folder || ::fstatat(folder->fd.get(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0)
        return std::nullopt;
    std::string what = " is no program but a script";
    if (S_ISLNK(status.st_mode)) {
        const ssize_t length = ::readlinkat(folder->fd.get(), name.c_str(), target.data(), target.size());
        what = " is a symlink to " + quote({target.data(), length > 0 ? static_cast<size_t>(length) : 0});
    } else if (is_elf(folder->fd.get(), name)) {
        return std::nullopt;
    }
    return Finding{Severity::Warning,
                   quote(path) + what +
                       ": it may change what containers are given, past the hooks and their policy",
                   "put the runtime itself there: the hooks need nothing around it"};
}

} // namespace ogh::admin
