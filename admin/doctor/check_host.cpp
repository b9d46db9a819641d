// SPDX-License-Identifier: Apache-2.0
#include "doctor/check_host.h"

#include <string>

#include "base/error.h"
#include "base/text.h"
#include "doctor/check_vendors.h"
#include "host/host_file.h"
#include "registration/version_number.h"

namespace ogh::admin {

namespace {

// mount_setattr(2) came with 5.12.
constexpr VersionNumber oldest{5, 12};

Finding check_kernel(const Sysroot &sysroot)
{
    constexpr size_t limit = 4096;
    std::string release = read_host_file(sysroot, "/proc/sys/kernel/osrelease", limit).value_or("");
    release = release.substr(0, release.find('\n'));
    const auto version = parse_version(release);
    if (!version)
        return {Severity::Warning, "the kernel's version is not known: " + quote(release), "mount /proc"};
    if (*version >= oldest)
        return {Severity::Ok, "Linux " + release, ""};
    return {Severity::Error, "Linux " + release + " is too old: the hooks need 5.12", "run a newer kernel"};
}

} // namespace

Section check_host(const Sysroot &sysroot)
{
    Section section{"this host", {check_kernel(sysroot)}};
    add(section.findings, check_vendor_units(sysroot));
    return section;
}

} // namespace ogh::admin
