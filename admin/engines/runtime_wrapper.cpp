// SPDX-License-Identifier: Apache-2.0
#include "engines/runtime_wrapper.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <string_view>

#include "base/error.h"
#include "base/file.h"
#include "base/path_names.h"
#include "base/text.h"
#include "engines/programs.h"
#include "kernel/openat2.h"

namespace ogh::admin {

namespace {

constexpr std::string_view elf_magic = "\x7f"
                                       "ELF";
constexpr std::string_view script_magic = "#!";

constexpr std::array vendors_runtimes = {"nvidia-container-runtime", "nvidia-container-runtime.real",
                                         "amd-container-runtime"};

UniqueFd open_in(int folder, const std::string &path)
{
    return open_path(folder, file_name_of(path), O_RDONLY | O_NONBLOCK, Walk::Beneath, quote(path));
}

RuntimeFile::Kind kind_of_content(int fd, const std::string &path)
{
    std::array<char, elf_magic.size()> bytes{};
    const ssize_t length = ::pread(fd, bytes.data(), bytes.size(), 0);
    if (length < 0)
        throw SystemError(errno, "cannot read " + quote(path));
    const std::string_view begin(bytes.data(), static_cast<size_t>(length));
    if (begin == elf_magic)
        return RuntimeFile::Kind::Program;
    return begin.starts_with(script_magic) ? RuntimeFile::Kind::Script : RuntimeFile::Kind::Other;
}

std::string link_at(int folder, const std::string &path)
{
    std::array<char, PATH_MAX> target{};
    const ssize_t length = ::readlinkat(folder, file_name_of(path).c_str(), target.data(), target.size());
    if (length < 0)
        throw SystemError(errno, "cannot read the symlink " + quote(path));
    return {target.data(), static_cast<size_t>(length)};
}

} // namespace

RuntimeFile look_at_runtime(const Sysroot &sysroot, const std::string &path)
{
    const auto folder = sysroot.find(folder_of(path));
    if (!folder)
        return {};
    struct stat status {};
    if (::fstatat(folder->fd.get(), file_name_of(path).c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) {
        if (errno == ENOENT)
            return {};
        throw SystemError(errno, "cannot look at " + quote(path));
    }
    if (S_ISLNK(status.st_mode))
        return {RuntimeFile::Kind::Link, link_at(folder->fd.get(), path)};
    if (!S_ISREG(status.st_mode))
        return {RuntimeFile::Kind::Other, ""};
    return {kind_of_content(open_in(folder->fd.get(), path).get(), path), ""};
}

std::string in_words(const RuntimeFile &file)
{
    switch (file.kind) {
    case RuntimeFile::Kind::Absent:
        return "is not there";
    case RuntimeFile::Kind::Program:
        return "is a program";
    case RuntimeFile::Kind::Script:
        return "is a script";
    case RuntimeFile::Kind::Link:
        return "is a symlink to " + quote(file.target);
    case RuntimeFile::Kind::Other:
        break;
    }
    return "is neither a program nor a script";
}

UniqueFd open_runtime(const Sysroot &sysroot, const std::string &path)
{
    const auto folder = sysroot.find(folder_of(path));
    if (!folder)
        throw SystemError(ENOENT, "cannot open " + quote(path));
    return open_in(folder->fd.get(), path);
}

std::optional<std::string> find_vendors_runtime(const Sysroot &sysroot, const std::string &path)
{
    const UniqueFd program = open_runtime(sysroot, path);
    for (const char *const name : vendors_runtimes)
        for (const char *const folder : program_folders()) {
            const auto place = sysroot.find(std::string(folder) + "/" + name);
            if (!place || look_at_runtime(sysroot, place->path).kind != RuntimeFile::Kind::Program)
                continue;
            const UniqueFd vendors = open_runtime(sysroot, place->path);
            if (have_same_content(program.get(), vendors.get(), quote_list({path, place->path})))
                return place->path;
        }
    return std::nullopt;
}

} // namespace ogh::admin
