// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace ogh {

/** What may be done to a device; the numbers are BPF_DEVCG_ACC_* of <linux/bpf.h>. */
constexpr unsigned access_mknod = 1;
constexpr unsigned access_read = 2;
constexpr unsigned access_write = 4;

/** One device node, exactly, and what a container may do to it. */
struct DeviceRule {
    /** The numbers are BPF_DEVCG_DEV_*. */
    enum class Type : std::uint16_t { Block = 1, Char = 2 };

    Type type = Type::Char;
    unsigned major = 0;
    unsigned minor = 0;
    unsigned access = access_read | access_write;

    bool operator==(const DeviceRule &) const = default;
};

using DeviceRules = std::vector<DeviceRule>;

/** As CDI and cgroup version 1 write it: "rwm", or less. */
std::string access_text(unsigned access);

/** As devices.allow of cgroup version 1 takes it: "c 195:0 rw". */
std::string to_text(const DeviceRule &rule);

/** Each rule's text, separated by ", ". */
std::string to_text(const DeviceRules &rules);

/**
 * The rules in order, each once.
 * @throws Error for a number that no device has, or an access that is none
 */
DeviceRules checked(DeviceRules rules);

} // namespace ogh
