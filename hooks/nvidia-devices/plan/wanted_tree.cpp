// SPDX-License-Identifier: Apache-2.0
#include "nvidia-devices/plan/wanted_tree.h"

#include <sys/stat.h>

#include "base/error.h"
#include "base/text.h"
#include "nvidia-devices/driver/driver_files.h"

namespace ogh::nvidia_devices {

namespace {

Given given_for(const Wanted &wanted, const Inventory &inventory)
{
    Given given{wanted.capabilities};
    // Only the profile for graphics names GPUs: a second request for another GPU otherwise finds all there.
    if (wanted.capabilities.has(Capability::Graphics) || wanted.capabilities.has(Capability::Display)) {
        for (const size_t gpu : wanted.gpus)
            given.minors.insert(inventory.gpus[gpu].information.minor.value());
    }
    return given;
}

} // namespace

Sysroot open_driver_root(const Sysroot &sysroot, const std::string &path)
{
    if (!path.starts_with('/'))
        throw Error(ExitCode::Usage, "--driver-root needs an absolute path, not " + quote(path));
    const auto found = sysroot.find(path);
    struct stat status {};
    if (!found || ::fstat(found->fd.get(), &status) != 0 || !S_ISDIR(status.st_mode))
        throw Error(ExitCode::Host, "--driver-root " + quote(path) + " is no folder of this host");
    return Sysroot(sysroot.on_host(found->path));
}

DriverTree read_wanted_tree(const Sysroot &driver_root, const Wanted &wanted, const Inventory &inventory,
                            const std::optional<std::string> &earlier, Notes &notes)
{
    const bool is_required = !wanted.gpus.empty();
    if (!inventory.version && is_required)
        throw Error(ExitCode::Host,
                    "the files of a driver whose version cannot be understood cannot be found");
    if (!inventory.version)
        return {};
    DriverTree tree{true, false, given_for(wanted, inventory), inventory.version->version, {}};
    if (const auto before = earlier ? parse_given(*earlier) : std::nullopt) {
        tree.given = joined(tree.given, *before);
        tree.is_there = tree.given == *before;
    }
    tree.files = read_driver_files(driver_root, {tree.version, tree.given.capabilities, is_required}, notes);
    return tree;
}

} // namespace ogh::nvidia_devices
