// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "health/kernel_log.h"
#include "lease/state/lease_state.h"

namespace ogh::admin {

/** Why a GPU is of no use. */
struct Fault {
    /** What shows it: a message is there once, and a state until it is another one. */
    enum class Evidence { Message, State } evidence = Evidence::Message;
    LeaseKey gpu;
    std::string text;          ///< for people; printable
    std::int64_t since = 0;    ///< seconds of CLOCK_REALTIME; for people alone
    std::int64_t over_ns = 0;  ///< CLOCK_BOOTTIME: when a sign was seen that it is over; 0: it is not
    bool is_drained = false;   ///< a drain was made for it
    std::uint64_t binding = 0; ///< of a Message: as of apply_binding() since then; 0: there was none yet

    bool operator==(const Fault &) const = default;
};

/** What 'check' knows from one look to the next, all of it of one boot. */
struct Memory {
    std::string boot;       ///< /proc/sys/kernel/random/boot_id
    std::uint64_t next = 0; ///< the record of the kernel's log that comes next
    std::vector<Fault> faults;

    bool operator==(const Memory &) const = default;
};

/** When a look takes place. */
struct Moment {
    std::int64_t boottime_ns = 0;
    std::int64_t unix_seconds = 0;
};

/** What a driver has said: a fault, or that those of the GPU which a message has shown are over. No other changes anything. */
void apply(Memory &memory, const Sign &sign, const Moment &now);

/** What a GPU looks like now. @param text why it is of no use; nothing: it is not so, and no fault that a state showed */
void apply_state(Memory &memory, const LeaseKey &gpu, const std::optional<std::string> &text,
                 const Moment &now);

/**
 * What a message has shown is over as soon as the GPU's driver has taken the GPU anew.
 * @param binding PciGpu::binding
 */
void apply_binding(Memory &memory, const LeaseKey &gpu, std::uint64_t binding, const Moment &now);

/** What is to be done about drains. */
struct DrainChanges {
    std::vector<Drain> drain;
    std::vector<LeaseKey> undrain; ///< of this program's own
};

/** Who makes these drains, as Drain::by has it. */
inline constexpr const char *drained_by_check = "oci-gpu-hooks check";

/**
 * Brings the memory in line with the drains that there are. One of this program's that is not there any more was ended by
 * a person, who counts: its fault is forgotten. One that the memory does not know is a fault, and lasts until its end is
 * seen. What is over and was never drained is forgotten as well.
 */
void compare(Memory &memory, const std::vector<Drain> &drains);

/**
 * Which drains are to be made and ended, and writes down that they are.
 * @param memory after compare()
 * @param settle_ns how long what is over has to be over before the GPU is given again
 */
DrainChanges settle_drains(Memory &memory, std::int64_t settle_ns, const Moment &now);

/** JSON; read again by parse_memory(). */
std::string to_text(const Memory &memory);

/** @return nothing if that is no such text, as after a crash of the host */
std::optional<Memory> parse_memory(std::string_view text);

/** What 'check' says in the end. */
struct CheckFindings {
    std::map<LeaseKey, std::uint64_t> gpus; ///< those that hooks list, with their numbers
    std::vector<Fault> faults;              ///< what is over is in it as long as it drains
    std::map<std::pair<LeaseKey, std::string>, unsigned> reports; ///< what was said of a GPU, and how often
    std::vector<std::string> notes;                               ///< sentences
    std::vector<std::string> not_looked_at;
};

/** For people: a line each, and one that sums up. */
std::string to_text(const CheckFindings &findings);

/** For programs; "status" is "failed", "not looked at" or "nothing found". */
std::string to_json(const CheckFindings &findings);

/**
 * For a custom plugin of node-problem-detector's: a line of at most 80 characters, which is what it takes by its default
 * (max_output_length). docs/custom_plugin_monitor.md there.
 */
std::string to_npd_line(const CheckFindings &findings);

/** All of it in one, the worse the later. */
struct Verdict {
    const char *word; ///< in JSON
    /** Of text and JSON: none of ExitStatus's that an error has, so that nobody takes one for a GPU that has failed. */
    int exit_status;
    int npd_status; ///< what node-problem-detector takes for it: well, unknown, a problem
};

inline constexpr Verdict nothing_found{"nothing found", 0, 0};
inline constexpr Verdict not_looked_at{"not looked at", 7, 2};
inline constexpr Verdict has_failed{"failed", 8, 1};

const Verdict &verdict_of(const CheckFindings &findings);

/** Of a text, as much as such a line takes. */
std::string npd_line(std::string text);

} // namespace ogh::admin
