// SPDX-License-Identifier: Apache-2.0
#include "hook/cdi_option.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>

#include "base/duration.h"
#include "base/error.h"
#include "hook/cdi_spec.h"

namespace ogh {

namespace {

constexpr const char *option = "--cdi";
constexpr const char *sysroot_option = "--sysroot";

/** Where this executable lies, as the host of the sysroot names it. */
std::string own_executable(const Sysroot &sysroot)
{
    std::array<char, PATH_MAX> text{};
    const ssize_t length = ::readlink("/proc/self/exe", text.data(), text.size());
    if (length < 0)
        throw SystemError(errno, "cannot find out where this executable is (/proc/self/exe)");
    std::string path(text.data(), static_cast<size_t>(length));
    const std::string root = sysroot.on_host("/");
    if (root != "/" && path.starts_with(root + "/"))
        path.erase(0, root.size());
    return path;
}

/** The command line's options but --cdi, and --sysroot, which says where this process is to look. */
std::vector<std::string> carried_options(const std::vector<std::string> &words)
{
    std::vector<std::string> carried;
    for (size_t i = 1; i < words.size(); ++i) {
        if (words[i] == sysroot_option)
            ++i; // its value
        else if (words[i] != option && !words[i].starts_with(sysroot_option + std::string("=")))
            carried.push_back(words[i]);
    }
    return carried;
}

} // namespace

void add_cdi_option(CommandLine &cli, bool &cdi)
{
    cli.add_flag(option, "Print a CDI specification whose devices call this hook, and do nothing else", cdi);
}

void check_cdi(bool cdi, bool list, const CommonOptions &options)
{
    if (!cdi)
        return;
    if (list || options.plan)
        throw Error(ExitCode::Usage, "--cdi goes with neither --list nor --plan");
    if (options.request || options.opt_in != OptIn::Annotation)
        throw Error(ExitCode::Usage,
                    "--cdi goes with neither --request nor --opt-in: who names a device asks for it");
}

std::string cdi_text(const CdiRequest &request, const Sysroot &sysroot)
{
    CdiSpec spec{request.hook, own_executable(sysroot),        carried_options(request.words),
                 "",           hook_timeout(request.max_wait), request.devices};
    const std::string beside = spec.executable.substr(0, spec.executable.rfind('/')) + "/ldcache-update";
    // An engine starts no container by a specification whose executable is missing.
    if (request.with_libraries && sysroot.find(beside))
        spec.ldcache_update = beside;
    return to_json(spec);
}

std::chrono::seconds hook_timeout(const std::string &max_wait)
{
    constexpr std::chrono::seconds least{30};
    constexpr std::chrono::seconds for_itself{5}; // besides waiting, see "Waiting" in oci-gpu-hooks(7)
    return std::max(least, parse_duration(max_wait).value_or(std::chrono::seconds{0}) + for_itself);
}

} // namespace ogh
