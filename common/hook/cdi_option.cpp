// SPDX-License-Identifier: Apache-2.0
#include "hook/cdi_option.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <string_view>

#include "base/duration.h"
#include "base/error.h"
#include "base/path_names.h"
#include "build_config.h"

namespace ogh {

namespace {

/** Where it is installed, or else where this one lies, as the host of the sysroot names it. */
std::string own_executable(const CdiRequest &request, const Sysroot &sysroot)
{
    if (std::string installed = OGH_EXECUTABLES_DIRECTORY "/" + request.hook; sysroot.find(installed))
        return installed;
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

/** The command line's options but those that are for this process alone: where it is to look, and what it prints. */
std::vector<std::string> carried_options(const std::vector<std::string> &words)
{
    std::vector<std::string> carried;
    for (size_t i = 1; i < words.size(); ++i) {
        const std::string_view word = words[i];
        const std::string_view name = word.substr(0, word.find('='));
        if (name == "--sysroot")
            i += name == word ? size_t{1} : 0; // its value
        else if (name != "--cdi")
            carried.push_back(words[i]);
    }
    return carried;
}

} // namespace

void check_cdi(bool cdi, bool list, const CommonOptions &options)
{
    if (!cdi)
        return;
    if (list || options.plan)
        throw Error(ErrorKind::Usage, "--cdi goes with neither --list nor --plan");
    if (options.request || options.opt_in != OptIn::Annotation)
        throw Error(ErrorKind::Usage,
                    "--cdi goes with neither --request nor --opt-in: naming a device is the request");
}

std::string cdi_text(const CdiRequest &request, const Sysroot &sysroot, Notes &notes)
{
    CdiSpec spec{request.hook,
                 request.kind,
                 own_executable(request, sysroot),
                 carried_options(request.words),
                 "",
                 hook_timeout(request.max_wait),
                 request.devices};
    const std::string beside = path_in(directory_of(spec.executable), "ldcache-update");
    // An engine starts no container by a specification whose executable is missing.
    if (request.with_libraries && sysroot.find(beside))
        spec.ldcache_update = beside;
    return to_json(spec, notes);
}

std::chrono::seconds hook_timeout(const std::string &max_wait)
{
    constexpr std::chrono::seconds least{30};
    constexpr std::chrono::seconds for_itself{5}; // besides waiting, see "Waiting" in oci-gpu-hooks-leases(7)
    return std::max(least, parse_duration(max_wait).value_or(std::chrono::seconds{0}) + for_itself);
}

} // namespace ogh
