// SPDX-License-Identifier: Apache-2.0
#include "hook/cdi_option.h"

#include <fcntl.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/file.h"
#include "base/path_names.h"
#include "build_config.h"

namespace ogh {

namespace {

/** Where it is installed, or else where this one lies, as the host of the sysroot names it. */
std::string own_executable(const std::string &hook, const Sysroot &sysroot)
{
    if (std::string installed = OGH_EXECUTABLES_DIRECTORY "/" + hook; sysroot.find(installed))
        return installed;
    std::string path = read_link(AT_FDCWD, "/proc/self/exe", "'/proc/self/exe'");
    const std::string root = sysroot.on_host("/");
    if (root != "/" && path.starts_with(root + "/"))
        path.erase(0, root.size());
    return path;
}

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

std::string cdi_text(CdiSpec spec, bool with_libraries, const Sysroot &sysroot, Notes &notes)
{
    spec.executable = own_executable(spec.hook, sysroot);
    spec.options = carried_options(spec.options);
    const std::string beside = path_in(directory_of(spec.executable), "ldcache-update");
    // An engine starts no container by a specification whose executable is missing.
    if (with_libraries && sysroot.find(beside))
        spec.ldcache_update = beside;
    return to_json(spec, notes);
}

std::chrono::seconds hook_timeout(std::chrono::seconds max_wait)
{
    constexpr std::chrono::seconds least{30};
    constexpr std::chrono::seconds for_itself{5}; // besides waiting, see "Waiting" in oci-gpu-hooks-leases(7)
    return std::max(least, max_wait + for_itself);
}

} // namespace ogh
