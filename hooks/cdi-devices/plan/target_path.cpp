// SPDX-License-Identifier: Apache-2.0
#include "cdi-devices/plan/target_path.h"

#include <array>
#include <string_view>

#include "base/error.h"
#include "base/path_names.h"
#include "base/text.h"

namespace ogh::cdi_devices {

namespace {

/** Nothing may lie on, above or below these. What nvidia-devices records of its tree is read by other hooks. */
constexpr auto closed =
    std::to_array<std::string_view>({"/proc", "/sys", "/usr/local/nvidia/.oci-gpu-hooks"});

/**
 * Nothing may lie on or above these: what engines make, and need, and the tree of nvidia-devices. In that one's place may
 * be what a host has there itself; where the tree is, it is read-only, and a specification fails.
 */
constexpr auto kept = std::to_array<std::string_view>(
    {"/usr/local/nvidia",  "/dev",         "/etc/hosts",  "/etc/hostname", "/etc/resolv.conf", "/etc/mtab",
     "/run/.containerenv", "/run/secrets", "/.dockerenv", "/dev/console",  "/dev/full",        "/dev/mqueue",
     "/dev/null",          "/dev/ptmx",    "/dev/pts",    "/dev/random",   "/dev/shm",         "/dev/tty",
     "/dev/urandom",       "/dev/zero"});

/** Whether one of its names is "..". */
bool leads_up(std::string_view path)
{
    for (size_t at = path.find(".."); at != std::string_view::npos; at = path.find("..", at + 1)) {
        const size_t end = at + std::string_view("..").size();
        if ((at == 0 || path[at - 1] == '/') && (end == path.size() || path[end] == '/'))
            return true;
    }
    return false;
}

Error not_there(const std::string &path, std::string_view what)
{
    return {ErrorKind::Denied, "a specification puts something at " + quote(path) +
                                   " in the container, which would "
                                   "be on, above or in " +
                                   quote(what) + "; that is not done"};
}

} // namespace

std::string clean_path(const std::string &path)
{
    const auto refused = [&](const char *why) {
        return Error(ErrorKind::BrokenHost,
                     "the specification's path " + quote(path) + " in the container " + why);
    };
    if (!path.starts_with('/') || path.find('\0') != std::string::npos)
        throw refused("is not absolute");
    if (leads_up(path))
        throw refused("has '..'");
    return without_dots(path);
}

std::string mount_target(const std::string &path)
{
    std::string cleaned = clean_path(path);
    if (cleaned == "/")
        throw not_there(path, "/");
    for (const std::string_view place : closed)
        if (is_at_or_below(cleaned, place) || is_at_or_below(place, cleaned))
            throw not_there(path, place);
    for (const std::string_view place : kept)
        if (is_at_or_below(place, cleaned))
            throw not_there(path, place);
    return cleaned;
}

std::string node_target(const std::string &path)
{
    std::string cleaned = mount_target(path);
    if (!is_at_or_below(cleaned, "/dev"))
        throw Error(ErrorKind::Denied, "a specification has the device node " + quote(path) +
                                           ", and nodes are made below '/dev' alone");
    return cleaned;
}

} // namespace ogh::cdi_devices
