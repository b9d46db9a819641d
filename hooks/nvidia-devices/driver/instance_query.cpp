// SPDX-License-Identifier: Apache-2.0
#include "nvidia-devices/driver/instance_query.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <utility>

#include "base/error.h"
#include "base/text.h"
#include "base/unique_fd.h"
#include "kernel/limited_program.h"
#include "nvidia-devices/driver/driver_root.h"
#include "nvidia-devices/driver/library_cache.h"
#include "nvidia-devices/driver/library_search.h"
#include "nvidia-devices/driver/library_table.h"

namespace ogh::nvidia_devices {

namespace {

constexpr const char *program_name = "nvidia-devices-nvml";
constexpr std::string_view library_name = "libnvidia-ml";
constexpr const char *own_executable = "/proc/self/exe";
constexpr std::chrono::seconds time_limit{5};
constexpr size_t max_answer = 65536; // 512 instances

struct OwnExecutable {
    std::string folder; ///< without a slash at the end
    struct stat status;
};

OwnExecutable own()
{
    std::array<char, PATH_MAX> path{};
    struct stat status {};
    const ssize_t size = ::readlink(own_executable, path.data(), path.size());
    if (size <= 0 || static_cast<size_t>(size) == path.size() || ::stat(own_executable, &status) != 0)
        throw SystemError(errno, "cannot tell where this hook's executable is", ExitCode::Host);
    const std::string_view text(path.data(), static_cast<size_t>(size));
    return {std::string(text.substr(0, text.rfind('/'))), status};
}

/**
 * What is run with root's user ID has to be as safe from others as this hook itself. In a user namespace root's files and
 * this executable are both of an owner without a number there.
 */
void require_safe(int fd, const OwnExecutable &own, const std::string &what)
{
    struct stat status {};
    if (::fstat(fd, &status) != 0)
        throw SystemError(errno, "cannot look at " + what, ExitCode::Host);
    // Others may put files into a sticky folder, and not exchange one that is there; stat(2) on S_ISVTX.
    const bool is_sticky = S_ISDIR(status.st_mode) && (status.st_mode & S_ISVTX) != 0;
    const bool is_open = (status.st_mode & (S_IWGRP | S_IWOTH)) != 0 && !is_sticky;
    if (is_open || (status.st_uid != 0 && status.st_uid != own.status.st_uid))
        throw Error(ExitCode::Host, what + " is not run: others than root may change it");
}

/** @return it as O_PATH; an invalid one if it is not there */
UniqueFd open_safe(const std::string &path, const OwnExecutable &own)
{
    const std::string shown = quote(path);
    auto place = Sysroot("/").find(
        path, [&](int folder) { require_safe(folder, own, shown + " (a folder on the way to it)"); });
    if (!place)
        return {};
    require_safe(place->fd.get(), own, shown);
    return std::move(place->fd);
}

UniqueFd open_program(const std::string &path, const OwnExecutable &own)
{
    UniqueFd fd = open_safe(path, own);
    if (!fd.valid())
        throw NoLibrary("there is no " + quote(path) + ", which asks it");
    return fd;
}

UniqueFd open_library(const Sysroot &driver_root, const std::string &version, const OwnExecutable &own)
{
    Notes notes;
    const DriverRoot root(driver_root);
    const auto cache = read_library_cache(root, notes);
    LibrarySearch search(root, cache, native_machine(), version);
    const auto names = library_names();
    const auto name =
        std::find_if(names.begin(), names.end(), [](const auto &each) { return each.name == library_name; });
    const auto library = search.find(*name);
    UniqueFd fd = library ? open_safe(library->host_path, own) : UniqueFd();
    if (!fd.valid())
        throw NoLibrary("this host has no " + quote(std::string(library_name) + ".so." + version));
    return fd;
}

} // namespace

std::string query_instances(const Sysroot &driver_root, const std::string &version,
                            const std::vector<std::string> &addresses)
{
    const OwnExecutable self = own();
    const std::string path = self.folder + "/" + program_name;
    const UniqueFd program = open_program(path, self);
    const UniqueFd library = open_library(driver_root, version, self);
    std::vector<std::string> words{program_name};
    words.insert(words.end(), addresses.begin(), addresses.end());
    return run_limited({program.get(), words, library.get(), time_limit, max_answer,
                        quote(path) + ", which asks NVIDIA's library (NVML),"});
}

} // namespace ogh::nvidia_devices
