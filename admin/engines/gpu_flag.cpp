// SPDX-License-Identifier: Apache-2.0
#include "engines/gpu_flag.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/path_names.h"
#include "base/text.h"
#include "engines/programs.h"
#include "host/host_file.h"
#include "kernel/proc_fs.h"
#include "registration/gpu_flag_script.h"

namespace ogh::admin {

namespace {

constexpr size_t max_script = size_t{1} << 18U;

/** NVIDIA's is a program of megabytes: of what is there the beginning alone tells. */
bool is_ours(const ResolvedPath &place)
{
    struct stat status {};
    if (::fstat(place.fd.get(), &status) != 0 || !S_ISREG(status.st_mode))
        return false;
    const std::string ours = gpu_flag_script({});
    std::string begin(ours.size(), '\0');
    const UniqueFd file =
        ProcFs().reopen(place.fd.get(), O_RDONLY | O_NONBLOCK | O_NOCTTY, quote(place.path));
    const ssize_t length = ::pread(file.get(), begin.data(), begin.size(), 0);
    return length == static_cast<ssize_t>(begin.size()) && is_gpu_flag_script(begin);
}

} // namespace

std::optional<std::string> read_gpu_flag_script(const Sysroot &sysroot)
{
    const auto place = sysroot.find(gpu_flag_path);
    if (!place || !is_ours(*place))
        return std::nullopt;
    return read_host_file(sysroot, place->path, max_script);
}

std::optional<std::string> find_vendors_gpu_flag(const Sysroot &sysroot)
{
    for (const char *const directory : program_directories()) {
        std::string path = path_in(directory, gpu_flag_program);
        const auto place = sysroot.find(path);
        if (place && !is_ours(*place))
            return path;
    }
    return std::nullopt;
}

} // namespace ogh::admin
