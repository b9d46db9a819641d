// SPDX-License-Identifier: Apache-2.0
#include "doctor/check_host.h"

#include <sys/stat.h>

#include <string>

#include "base/dotted_version.h"
#include "base/error.h"
#include "base/text.h"
#include "history/history.h"
#include "host/host_file.h"
#include "host/root_alone.h"
#include "host/systemd_units.h"
#include "lease/state/lease_file.h"

namespace ogh::admin {

namespace {

// mount_setattr(2) came with 5.12.
const DottedVersion oldest{5, 12};

Finding check_kernel(const Sysroot &sysroot)
{
    constexpr size_t limit = 4096;
    std::string release = read_host_file(sysroot, "/proc/sys/kernel/osrelease", limit).value_or("");
    release = release.substr(0, release.find('\n'));
    const auto version = DottedVersion::parse_start(release);
    if (!version)
        return {Severity::Warning, "the kernel's version is not known: " + quote(release), "mount /proc"};
    if (*version >= oldest)
        return {Severity::Ok, "Linux " + release, ""};
    return {Severity::Error, "Linux " + release + " is too old: the hooks need 5.12", "run a newer kernel"};
}

/** A unit of systemd that makes a vendor's CDI specification anew. */
Findings check_units(const Sysroot &sysroot)
{
    for (const std::string unit : {"nvidia-cdi-refresh.path", "nvidia-cdi-refresh.service"})
        if (is_enabled_unit(sysroot, unit))
            return {
                {Severity::Warning,
                 "the unit " + unit + " is enabled: it regenerates NVIDIA's CDI specification, with all GPUs",
                 "systemctl disable --now nvidia-cdi-refresh.path nvidia-cdi-refresh.service"}};
    return {};
}

bool has_type(const ResolvedPath &place, mode_t type)
{
    struct stat status {};
    return ::fstat(place.fd.get(), &status) == 0 && (status.st_mode & S_IFMT) == type;
}

/** Also where no hook lists a GPU, and so none reads it. */
Findings check_lease_state(const Sysroot &sysroot)
{
    constexpr size_t limit = size_t{1} << 28U;
    const std::string path = "/run/oci-gpu-hooks/leases/state";
    try {
        if (const auto text = read_host_file(sysroot, path, limit))
            static_cast<void>(parse_lease_file(*text));
        return {};
    } catch (const Error &error) {
        return {{Severity::Error,
                 quote(path) + " cannot be read, so that no container is given a GPU: " + error.what(),
                 "once no container that runs has a GPU: rm " + path}};
    }
}

/** Each that is there; where others may write, no hook takes a lease. */
Findings check_lease_directory(const Sysroot &sysroot)
{
    for (const std::string path : {"/run", "/run/oci-gpu-hooks", "/run/oci-gpu-hooks/leases"}) {
        const auto place = sysroot.find(path);
        if (!place)
            return {};
        if (!has_type(*place, S_IFDIR))
            return {{Severity::Error, quote(path) + " is no directory: no container is given a GPU",
                     "rm " + path}};
        if (const std::string why = why_others_may_add(place->fd.get()); !why.empty())
            return {{Severity::Error,
                     "the directory " + quote(path) + " " + why +
                         ": no container is given a GPU, as no lease is taken where others may write",
                     std::string("chown root:root ").append(path).append("; chmod 755 ").append(path)}};
    }
    return check_lease_state(sysroot);
}

/** Whether a path is followed by a symlink, the last component too. */
bool has_link(const Sysroot &sysroot, const std::string &path)
{
    bool found = false;
    static_cast<void>(sysroot.find(path, [&](int place) {
        struct stat status {};
        found = found || (::fstat(place, &status) == 0 && S_ISLNK(status.st_mode));
    }));
    return found;
}

/** The history follows none: History::write(). */
Findings check_history(const Sysroot &sysroot)
{
    for (const std::string directory : {"/var", "/var/lib", "/var/lib/oci-gpu-hooks"})
        if (has_link(sysroot, directory))
            return {{Severity::Warning,
                     quote(directory) + " is a symlink: what is given and refused is not written down in " +
                         quote(default_history),
                     "rm " + directory + ", and mount what it is to lead to there: mount --bind"}};
    const auto place = sysroot.find(default_history);
    if (!place || has_type(*place, S_IFREG))
        return {};
    return {{Severity::Warning,
             quote(default_history) + " is no plain file: what is given and refused is not written down",
             "remove it"}};
}

} // namespace

Section check_host(const Sysroot &sysroot)
{
    Section section{"this host", {check_kernel(sysroot)}};
    add(section.findings, check_units(sysroot));
    add(section.findings, check_lease_directory(sysroot));
    add(section.findings, check_history(sysroot));
    return section;
}

} // namespace ogh::admin
