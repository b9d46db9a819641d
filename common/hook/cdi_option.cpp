// SPDX-License-Identifier: Apache-2.0
#include "hook/cdi_option.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <string_view>

#include "base/contains.h"
#include "base/duration.h"
#include "base/error.h"
#include "base/path_names.h"
#include "build_config.h"
#include "hook/declared_options.h"

namespace ogh {

namespace {

constexpr const char *option = "--cdi";
constexpr std::string_view inspect_option = "--inspect";
// Where this process is to look, and what the devices are called: none of it is for the hook that is called.
constexpr std::array<std::string_view, 2> own_options{"--sysroot", "--kind"};

/** Where this executable lies, as the host of the sysroot names it. */
std::string own_executable(const CdiRequest &request, const Sysroot &sysroot)
{
    if (request.inspect)
        return OGH_EXECUTABLES_DIRECTORY "/" + request.hook;
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

/** The command line's options but --cdi and those that are for this process alone. */
std::vector<std::string> carried_options(const std::vector<std::string> &words)
{
    std::vector<std::string> carried;
    for (size_t i = 1; i < words.size(); ++i) {
        const std::string_view word = words[i];
        const std::string_view name = word.substr(0, word.find('='));
        const bool is_own = contains(own_options, name);
        if (is_own && name == word)
            ++i; // its value
        else if (!is_own && word != option && word != inspect_option)
            carried.push_back(words[i]);
    }
    return carried;
}

} // namespace

void add_cdi_option(CommandLine &cli, bool &cdi)
{
    cli.add(declared("--cdi"), cdi);
}

void add_cdi_kind_option(CommandLine &cli, const std::string &vendor_kind, std::string &kind)
{
    cli.add_choice(declared("--kind"), {vendor_kind}, [&kind](const std::string &name) { kind = name; });
}

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
