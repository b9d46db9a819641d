// SPDX-License-Identifier: Apache-2.0
#include "cdi-devices/plan/mount_plan.h"

#include <libmount.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include <string_view>

#include "base/dotted_version.h"
#include "base/error.h"
#include "base/text.h"
#include "cdi-devices/plan/target_path.h"

namespace ogh::cdi_devices {

namespace {

constexpr unsigned long read_only = MS_RDONLY; // <sys/mount.h> has these as an enumeration
constexpr unsigned long recursive = MS_REC;

/** What an option may say, as flags of mount(2). Each mount is nosuid, nodev and private, and relatime if nothing else is said. */
constexpr unsigned long known_flags = read_only | recursive | MS_NOEXEC | MS_NOATIME | MS_NODIRATIME |
                                      MS_BIND | MS_NOSUID | MS_NODEV | MS_RELATIME | MS_PRIVATE | MS_SLAVE |
                                      MS_SHARED;

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

/** In their order: of two that contradict each other the later is in effect. @param flags without any options */
unsigned long flags_of(const cdi::Mount &mount, unsigned long flags)
{
    const libmnt_optmap *const options = mnt_get_builtin_optmap(MNT_LINUX_MAP);
    for (const std::string &word : mount.options) {
        unsigned long set = 0;
        unsigned long left = ~0UL; // by those that it clears
        // Neither a list of them nor one with a value is an option of a bind mount.
        if (word.find_first_not_of("abcdefghijklmnopqrstuvwxyz") == std::string::npos) {
            mnt_optstr_get_flags(word.c_str(), &set, options);
            mnt_optstr_get_flags(word.c_str(), &left, options);
        }
        const bool is_known = set != 0 || left == ~read_only || word == "defaults";
        if (!is_known || (set & ~known_flags) != 0)
            throw wrong(mount, ErrorKind::Denied,
                        "has the option " + quote(word) + ", which is not known here");
        // A propagation is recursive by itself.
        if ((set & MS_BIND) != 0)
            left &= ~recursive;
        else
            set &= ~recursive;
        flags = (flags & left) | set;
    }
    return flags;
}

} // namespace

MountEdit plan_mount(const cdi::Mount &mount, const HostFile &host, Writable writable,
                     const std::string &driver_version)
{
    if (!mount.type.empty() && mount.type != "bind" && mount.type != "none")
        throw wrong(mount, ErrorKind::Denied,
                    "has the type " + quote(mount.type) + ": only what the host has is mounted (type bind)");
    const unsigned long flags = flags_of(mount, writable == Writable::Spec ? 0UL : read_only);
    MountEdit edit;
    edit.container_path = mount_target(mount.container_path);
    edit.host_path = host.path;
    edit.kind = kind_of(mount, host, driver_version);
    edit.read_only = writable == Writable::Never || (flags & read_only) != 0;
    edit.recursive = (flags & recursive) != 0;
    edit.attributes = ((flags & MS_NOEXEC) != 0 ? MOUNT_ATTR_NOEXEC : 0UL) |
                      ((flags & MS_NOATIME) != 0 ? MOUNT_ATTR_NOATIME : 0UL) |
                      ((flags & MS_NODIRATIME) != 0 ? MOUNT_ATTR_NODIRATIME : 0UL);
    return edit;
}

} // namespace ogh::cdi_devices
