// SPDX-License-Identifier: Apache-2.0
#include "cdi-devices/plan/target_path.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

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

/** Not split_list(): a blank is part of a name. */
std::vector<std::string> parts_of(const std::string &path)
{
    std::vector<std::string> parts;
    for (size_t start = 0; start <= path.size();) {
        const size_t end = std::min(path.find('/', start), path.size());
        parts.push_back(path.substr(start, end - start));
        start = end + 1;
    }
    return parts;
}

Error not_there(const std::string &path, std::string_view what)
{
    return {ErrorKind::Denied, "a specification puts something at " + quote(path) +
                                   " in the container, which would "
                                   "be on, above or in " +
                                   quote(what) + "; that is not done"};
}

std::string allowed_path(const std::string &path)
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

} // namespace

std::string clean_path(const std::string &path)
{
    const auto refused = [&](const char *why) {
        return Error(ErrorKind::BrokenHost,
                     "the specification's path " + quote(path) + " in the container " + why);
    };
    if (!path.starts_with('/') || path.find('\0') != std::string::npos)
        throw refused("is not absolute");
    std::string cleaned;
    for (const std::string &name : parts_of(path)) {
        if (name == "..")
            throw refused("has '..'");
        if (!name.empty() && name != ".")
            cleaned += "/" + name;
    }
    return cleaned.empty() ? "/" : cleaned;
}

std::string mount_target(const std::string &path)
{
    return allowed_path(path);
}

std::string node_target(const std::string &path)
{
    std::string cleaned = allowed_path(path);
    if (!is_at_or_below(cleaned, "/dev"))
        throw Error(ErrorKind::Denied, "a specification has the device node " + quote(path) +
                                           ", and nodes are made below '/dev' alone");
    return cleaned;
}

} // namespace ogh::cdi_devices
