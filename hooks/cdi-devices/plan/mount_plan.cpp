// SPDX-License-Identifier: Apache-2.0
#include "cdi-devices/plan/mount_plan.h"

#include <sys/mount.h>
#include <sys/stat.h>

#include <array>
#include <optional>
#include <string_view>

#include "base/contains.h"
#include "base/dotted_version.h"
#include "base/error.h"
#include "base/text.h"
#include "cdi-devices/plan/target_path.h"

namespace ogh::cdi_devices {

namespace {

/** Options that change nothing: each mount is nosuid, nodev and private, and relatime if nothing else is said. */
constexpr auto granted =
    std::to_array<std::string_view>({"nosuid", "nodev", "private", "rprivate", "slave", "rslave", "shared",
                                     "rshared", "relatime", "defaults"});

Error wrong(const cdi::Mount &mount, ErrorKind kind, const std::string &why)
{
    return {kind, "the specification's mount of " + quote(mount.host_path) + " at " +
                      quote(mount.container_path) + " " + why};
}

/** What a library's name carries: "555.42.06" of libcuda.so.555.42.06; "" if it carries none. */
std::string version_in(const std::string &path)
{
    constexpr std::string_view before = ".so.";
    const size_t at = path.rfind(before);
    const std::string version = at == std::string::npos ? "" : path.substr(at + before.size());
    return is_driver_version(version) ? version : "";
}

Error missing(const cdi::Mount &mount, const std::string &driver_version)
{
    const std::string version = version_in(mount.host_path);
    if (version.empty() || driver_version.empty() || version == driver_version)
        return wrong(
            mount, ErrorKind::BrokenHost,
            "has nothing to mount: this host lacks it; the specification may be older than the driver, so "
            "have its vendor's tool regenerate it (for NVIDIA: nvidia-ctk cdi generate)");
    return wrong(mount, ErrorKind::BrokenHost,
                 "is for version " + version + " of the driver, and " + driver_version +
                     " is loaded: the specification is stale; regenerate it by 'nvidia-ctk cdi generate "
                     "--output=FILE', FILE being the specification's");
}

Kind kind_of(const cdi::Mount &mount, const HostFile &host, const std::string &driver_version)
{
    if (S_ISDIR(host.mode))
        return Kind::Directory;
    if (S_ISREG(host.mode))
        return Kind::File;
    if (S_ISSOCK(host.mode))
        return Kind::Socket;
    if (host.mode == 0)
        throw missing(mount, driver_version);
    throw wrong(mount, ErrorKind::Denied, "is neither of a directory nor of a file or a socket");
}

/** What the options say, in their order: of two that contradict each other the later is in effect. */
struct MountOptions {
    std::optional<bool> read_only;
    bool recursive = false;
    std::uint64_t attributes = 0;
};

MountOptions options_of(const cdi::Mount &mount)
{
    MountOptions options;
    for (const std::string &word : mount.options) {
        if (word == "ro" || word == "rw")
            options.read_only = word == "ro";
        else if (word == "bind" || word == "rbind")
            options.recursive = word == "rbind";
        else if (word == "noexec")
            options.attributes |= MOUNT_ATTR_NOEXEC;
        else if (word == "noatime")
            options.attributes |= MOUNT_ATTR_NOATIME;
        else if (word == "nodiratime")
            options.attributes |= MOUNT_ATTR_NODIRATIME;
        else if (!contains(granted, word))
            throw wrong(mount, ErrorKind::Denied,
                        "has the option " + quote(word) + ", which is not known here");
    }
    return options;
}

bool is_writable(const MountOptions &options, Writable writable)
{
    if (writable == Writable::Never)
        return false;
    return !options.read_only.value_or(writable == Writable::Stated);
}

} // namespace

MountEdit plan_mount(const cdi::Mount &mount, const HostFile &host, Writable writable,
                     const std::string &driver_version)
{
    if (!mount.type.empty() && mount.type != "bind" && mount.type != "none")
        throw wrong(mount, ErrorKind::Denied,
                    "has the type " + quote(mount.type) + ": only what the host has is mounted (type bind)");
    const MountOptions options = options_of(mount);
    MountEdit edit;
    edit.container_path = mount_target(mount.container_path);
    edit.host_path = host.path;
    edit.kind = kind_of(mount, host, driver_version);
    edit.read_only = !is_writable(options, writable);
    edit.recursive = options.recursive;
    edit.attributes = options.attributes;
    return edit;
}

} // namespace ogh::cdi_devices
