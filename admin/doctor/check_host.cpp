// SPDX-License-Identifier: Apache-2.0
#include "doctor/check_host.h"

#include <cstdio>
#include <string>

#include "base/error.h"
#include "base/text.h"
#include "host/host_file.h"

namespace ogh::admin {

namespace {

// mount_setattr(2) came with 5.12.
constexpr unsigned oldest_major = 5;
constexpr unsigned oldest_minor = 12;

Finding check_kernel(const Sysroot &sysroot)
{
    constexpr size_t limit = 4096;
    std::string release = read_host_file(sysroot, "/proc/sys/kernel/osrelease", limit).value_or("");
    release = release.substr(0, release.find('\n'));
    unsigned major = 0;
    unsigned minor = 0;
    if (std::sscanf(release.c_str(), "%u.%u", &major, &minor) != 2)
        return {Severity::Warning, "the kernel's version is not known: " + quote(release), "mount /proc"};
    if (major > oldest_major || (major == oldest_major && minor >= oldest_minor))
        return {Severity::Ok, "Linux " + release, ""};
    return {Severity::Error, "Linux " + release + " is too old: the hooks need 5.12", "run a newer kernel"};
}

} // namespace

Section check_host(const Sysroot &sysroot)
{
    return {"this host", {check_kernel(sysroot)}};
}

} // namespace ogh::admin
