// SPDX-License-Identifier: Apache-2.0
#include "doctor/check_host.h"

#include <string>

#include "base/dotted_version.h"
#include "base/text.h"
#include "host/host_file.h"
#include "host/root_alone.h"
#include "host/systemd_units.h"

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

/** Each that is there; where others may write, no hook takes a lease. */
Findings check_lease_folder(const Sysroot &sysroot)
{
    for (const std::string path : {"/run", "/run/oci-gpu-hooks", "/run/oci-gpu-hooks/leases"})
        if (const auto place = sysroot.find(path))
            if (const std::string why = why_others_may_add(place->fd.get()); !why.empty())
                return {{Severity::Error,
                         "the directory " + quote(path) + " " + why +
                             ": no container is given a GPU, as no lease is taken where others may write",
                         std::string("chown root:root ").append(path).append("; chmod 755 ").append(path)}};
    return {};
}

} // namespace

Section check_host(const Sysroot &sysroot)
{
    Section section{"this host", {check_kernel(sysroot)}};
    add(section.findings, check_units(sysroot));
    add(section.findings, check_lease_folder(sysroot));
    return section;
}

} // namespace ogh::admin
