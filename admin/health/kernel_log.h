// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "host/sysroot.h"
#include "lease/state/lease_state.h"

namespace ogh::admin {

/** One message of the kernel's log. */
struct LogRecord {
    std::uint64_t sequence = 0;
    /** Who wrote it: 0 is the kernel. What a process writes to /dev/kmsg is never 0, whatever it says. */
    unsigned facility = 0;
    std::string_view text; ///< control characters as \xNN, as the kernel gives it; no line behind the first
    /**
     * The device that it is about, such as "+pci:0000:03:00.0", where the kernel says so in a field of its own beside the
     * text (dev_printk()); "" where it does not. Nothing that somebody else has a say in has one.
     */
    std::string_view device = {};
};

/**
 * Understands the beginning of a line of /dev/kmsg, "PRIORITY,SEQUENCE,TIME,FLAGS[,…];TEXT": see
 * Documentation/ABI/testing/dev-kmsg of Linux. @return nothing for any other line, such as " SUBSYSTEM=pci"
 */
std::optional<LogRecord> parse_log_record(std::string_view line);

/** What has been read of the log. */
struct LogReading {
    std::uint64_t next = 0;    ///< the sequence number that the record behind the last one will have
    std::string not_looked_at; ///< what of it could not be read, and why; "" if all of it was
};

/** Called with each record; what it is given lasts no longer than the call. */
using UseRecord = std::function<void(const LogRecord &)>;

/**
 * Reads /dev/kmsg from the record `from` on, oldest first, to its end now; below another sysroot a plain file will do.
 * What is not there, may not be read or is no longer in the kernel's buffer is said in what is returned.
 * @throws Error for what should not be
 */
LogReading read_kernel_log(const Sysroot &sysroot, std::uint64_t from, const UseRecord &use);

/** The same for a file with what somebody has read from /dev/kmsg, whole. @throws Error (NotAvailable) if there is none */
LogReading read_recorded_log(const std::string &path, const UseRecord &use);

/** What a driver has said of a GPU. */
struct Sign {
    enum class Kind {
        Failed,   ///< it is of no use as it is
        Claimed,  ///< the same, by the words of a message alone: it takes another sign to believe it
        Over,     ///< what there was is over: it was reset
        Reported, ///< something that says nothing about the next container
    } kind;
    LeaseKey gpu;     ///< the whole one; the host need not have it
    std::string text; ///< for people; printable

    bool operator==(const Sign &) const = default;
};

/**
 * What a message of the kernel's own says, if it is one of NVIDIA's driver or amdgpu that is known from its first byte on.
 * Further on there may be what somebody has chosen, such as the name of a program. A rule of netfilter's can begin a message
 * with any words: that of amdgpu counts if the kernel itself says of which device it is, and NVIDIA's driver leaves that
 * out, so that what it says is a claim at most.
 * @return nothing for all others
 */
std::optional<Sign> sign_of(const LogRecord &record);

} // namespace ogh::admin
