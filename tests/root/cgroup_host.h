// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "../support/temp_directory.h"
#include "base/unique_fd.h"
#include "cgroup/device_cgroups.h"
#include "cgroup/device_program.h"
#include "child.h"

namespace ogh::test {

enum class Version { One, Two };

/** The device cgroups of that process, as this one sees them. */
DeviceCgroups device_cgroups_of(pid_t init, const std::string &cgroups_path);

/**
 * Cgroups of this kernel, both versions, in mounts of their own, and device nodes. A node whose major has no driver
 * tells what the kernel allows: opening it gives ENXIO, or EPERM if it is denied.
 */
class CgroupHost : public TempDirectory {
public:
    CgroupHost();
    CgroupHost(const CgroupHost &) = delete;
    CgroupHost &operator=(const CgroupHost &) = delete;
    ~CgroupHost();

    /** Makes a cgroup. @param name relative to this test's own, "" for that one; @return its path */
    std::string make(Version version, const std::string &name = "");

    /** Its directory, opened. */
    [[nodiscard]] UniqueFd open(Version version, const std::string &path) const;

    [[nodiscard]] std::string read(const std::string &path, const std::string &file) const; ///< version 1
    void write(const std::string &path, const std::string &file,
               const std::string &text) const; ///< version 1

    /** An init process in the cgroup, instead of the one before. */
    pid_t start(Version version, const std::string &path);

    /** The device cgroups of that process, from the one that `cgroups_path` names. */
    [[nodiscard]] DeviceCgroups container(const std::string &cgroups_path) const;

    /** Lets that one use the devices, and takes it back. */
    Notes try_to_allow(const std::string &cgroups_path, const DeviceRules &rules) const;

    /** A character and block major that has no driver. */
    [[nodiscard]] unsigned major() const { return major_; }

    [[nodiscard]] DeviceRule node(unsigned minor, unsigned access = access_read | access_write) const
    {
        return {DeviceRule::Type::Char, major_, minor, access};
    }

    /** Those that answers() asks: these devices and others, with every access that a process can try. */
    [[nodiscard]] DeviceRules questions() const;

    /** Those of questions() that the kernel allows to a process in the cgroup; one a line. */
    [[nodiscard]] std::string answers(Version version, const std::string &path) const;

    /** The same as all of the programs say, with `rules` allowed. */
    [[nodiscard]] std::string expected(const std::vector<DeviceProgram> &programs,
                                       const DeviceRules &rules = {}) const;

private:
    [[nodiscard]] std::string directory(Version version, const std::string &path) const;
    [[nodiscard]] std::string node_path(const DeviceRule &rule) const;
    [[nodiscard]] bool is_allowed(const DeviceRule &asked) const;

    unsigned major_;
    std::string top_;
    std::vector<std::string> made_;
    std::optional<Child> init_;
};

/** Attaches the program to the cgroup; it stays loaded as long as it is attached. @return its id */
std::uint32_t attach(int cgroup, const DeviceProgram &program, std::uint32_t flags);

/** The same by a link, which lasts as long as the descriptor. */
UniqueFd attach_by_link(int cgroup, const DeviceProgram &program);

/** The same of a program that is loaded. */
UniqueFd link_to(int cgroup, int program);

/** A program that looks something up in a map, and then denies all. */
DeviceProgram with_map(int map);
UniqueFd make_map();

/** The ids of what is attached, and how many instructions each has: "17:24 18:3 ". */
std::string attached(int cgroup);

} // namespace ogh::test
