// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ogh {

/**
 * As whom a container's first program runs: process.user of config.json, and what of process.capabilities bears on
 * reading files.
 */
struct ProcessUser {
    uid_t uid = 0; ///< these as the container numbers them
    gid_t gid = 0;
    std::vector<gid_t> groups = {};     ///< additionalGids
    bool overrides_permissions = false; ///< CAP_DAC_OVERRIDE is in its effective set

    bool operator==(const ProcessUser &) const = default;
};

/** A hook that the runtime calls for a container, at whichever stage. */
struct HookEntry {
    std::string path;
    std::optional<std::uint64_t> timeout = {}; ///< seconds; nothing: it is waited for as long as it takes

    bool operator==(const HookEntry &) const = default;
};

/** A mount of type "bind", its members as they are written; "" for one that is absent. */
struct BindMount {
    std::string destination;
    std::string source = {};

    bool operator==(const BindMount &) const = default;
};

/** What the hooks need of a bundle's config.json (OCI runtime specification, "Configuration"). */
struct Config {
    std::string rootfs; ///< absolute path of the container's root on the host
    std::map<std::string, std::string, std::less<>> annotations;
    std::vector<std::string> environment; ///< process.env, "NAME=VALUE"
    ProcessUser user;                     ///< process.user
    bool read_only = false;               ///< root.readonly; the runtime makes it so only after the hooks
    std::string mount_label;      ///< linux.mountLabel, the SELinux context of mounts; "" if there is none
    std::string cgroups_path;     ///< linux.cgroupsPath; "" if there is none
    std::vector<HookEntry> hooks; ///< of all stages
    std::string program;          ///< process.args[0]; "" if there is none
    std::vector<BindMount> binds; ///< its mounts of type "bind", in its order
    std::vector<std::string> devices; ///< the paths of linux.devices, as they are written
    bool allows_every_device = false; ///< linux.resources.devices does, as for a privileged container
    bool refuses_io_uring = false;    ///< linux.seccomp does, as engines write it for who is not privileged
};

/**
 * @param bundle absolute path; a relative root.path is below it
 * @throws Error if a member that is needed is absent or of the wrong type
 */
Config parse_config(std::string_view text, const std::string &bundle);

/**
 * Reads `bundle`/config.json, at most 16 MiB; it must be a regular file, not a symlink.
 * @return its text, for parse_config()
 * @throws Error
 */
std::string read_config(const std::string &bundle);

/** The value of a variable in the container's environment; of equal names the last wins, as in runc. */
std::optional<std::string> environment_value(const Config &config, std::string_view name);

} // namespace ogh
