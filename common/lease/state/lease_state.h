// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "edits/device_rule.h"
#include "host/pci_address.h"

namespace ogh {

/** What belongs to devices, found by the GPU that they are of (gpu_of()): devices of others never overlap. */
template<typename Item> class ByGpu final {
public:
    void add(std::string_view gpu, Item item) { items_[gpu].push_back(std::move(item)); }

    /** All that was added for devices of that GPU, in that order. */
    [[nodiscard]] const std::vector<Item> &near(std::string_view gpu) const
    {
        static const std::vector<Item> nothing;
        const auto found = items_.find(gpu);
        return found == items_.end() ? nothing : found->second;
    }

    [[nodiscard]] auto begin() const { return items_.begin(); }
    [[nodiscard]] auto end() const { return items_.end(); }

private:
    std::unordered_map<std::string_view, std::vector<Item>> items_;
};

/**
 * A GPU or a part of one, as leases name it: "VENDOR:PCI-ADDRESS", and for a part "/PART" behind it, with further parts
 * of parts behind that: "nvidia:0000:1b:00.0", "amd:0000:1b:00.0/3", "nvidia:0000:1b:00.0/1/0". Whoever asks makes it
 * the same for every name of the device.
 */
using LeaseKey = std::string;

/** The key of a whole GPU. @param vendor "nvidia" */
LeaseKey gpu_lease_key(const std::string &vendor, const PciAddress &address);

/** Whether `part` is that device or a part of it. */
bool covers(const LeaseKey &whole, const LeaseKey &part);

/** Whether who has the one has some of the other: it is the same, or one is a part of the other. Two parts do not. */
bool overlap(const LeaseKey &a, const LeaseKey &b);
bool overlaps_one_of(const std::vector<LeaseKey> &keys, const LeaseKey &key);

/** The whole GPU that a key names, or of which it names a part; as long as the key lasts. */
std::string_view gpu_of(const LeaseKey &key);

/** Whose device a key names, "nvidia"; as long as the key lasts. */
std::string_view vendor_in(const LeaseKey &key);

/** What is behind the vendor: the address of the GPU, and the part of it. */
std::string_view address_in(const LeaseKey &key);

enum class LeaseMode { Shared, Exclusive };

/** Whether two containers may have overlapping devices in these modes at the same time: only if both share. */
constexpr bool conflict(LeaseMode a, LeaseMode b)
{
    return a == LeaseMode::Exclusive || b == LeaseMode::Exclusive;
}

/**
 * A process of this boot, which no other process is ever taken for: all numbers would have to be given once more within
 * the same clock tick, 10 ms.
 */
struct ProcessId {
    pid_t pid = 0;                ///< as the pid namespace that wrote the state numbers it
    std::uint64_t start_time = 0; ///< clock ticks since boot, /proc/PID/stat field 22

    bool operator==(const ProcessId &) const = default;
    bool operator<(const ProcessId &other) const
    {
        return pid != other.pid ? pid < other.pid : start_time < other.start_time;
    }
};

/** A container's own cgroup, the topmost one. */
struct OwnCgroup {
    std::string controller; ///< as /proc/PID/cgroup names the hierarchy; "" is version 2
    std::string path;
    std::uint64_t inode = 0; ///< of its directory: the same path may be made again; 0: whichever is there

    bool operator==(const OwnCgroup &) const = default;
};

/** A container that has leases, or waits for them. */
struct Holder {
    ProcessId init;
    /** Init is the first process of a pid namespace of its own: with init all of the container ends. */
    bool own_pid_namespace = false;
    std::optional<OwnCgroup> cgroup = {}; ///< nothing: it is in no cgroup that is only its own
    std::string container = {};           ///< its id, whole; for people
    bool idle_init = false;               ///< its first program only waits, so that the container may be idle

    bool operator==(const Holder &) const = default;
};

/** At most so many devices at once for all containers that have them by it. */
struct Quota {
    std::string name; ///< with its kind: "key:nightly", "policy:ci", "io.kubernetes.pod.namespace=ml"
    unsigned most = 1;

    bool operator==(const Quota &) const = default;
};

/** In the order of their names, each of which is there once. */
using Quotas = std::vector<Quota>;

bool has_quota(const Quotas &quotas, std::string_view name);

struct LeasedDevice {
    LeaseKey key;
    LeaseMode mode = LeaseMode::Shared;
    Quotas quotas = {}; ///< in which it counts
    std::optional<unsigned> max_sharers =
        {}; ///< of a shared one: how many containers it may have, this one included

    bool operator==(const LeasedDevice &) const = default;
};

std::vector<LeaseKey> keys_of(const std::vector<LeasedDevice> &devices);

/**
 * The requests of a container that leave a choice, by LeaseRequest::name, each with the devices that were chosen for it;
 * without any: it was for all of them.
 */
using GrantedRequests = std::map<std::string, std::vector<LeaseKey>>;

/** How long a container may have its devices where others wait for them. */
struct HoldLimit {
    std::int64_t until_ns = 0; ///< CLOCK_BOOTTIME
    std::int64_t grace_ns = 0; ///< from the signal that asks it to end until it is ended
    int signal = 0;
    std::optional<std::int64_t> asked_ns = {}; ///< CLOCK_BOOTTIME: when it was asked; once

    bool operator==(const HoldLimit &) const = default;
};

/** What one container has. */
struct Allocation {
    Holder holder;
    std::vector<LeasedDevice> devices;
    std::int64_t taken_ns = 0; ///< of CLOCK_BOOTTIME: when it got the first of them
    std::int64_t since = 0;    ///< the same in seconds of CLOCK_REALTIME; for people alone
    GrantedRequests requests = {};
    std::optional<HoldLimit> limit = {};
    /** What its processes but init had used of the CPU by then, or by idle_ns; of a container that may be idle. */
    std::optional<std::uint64_t> others_cpu_ns = {};
    bool has_begun = false; ///< other processes than its init have been seen in it
    std::int64_t idle_ns =
        0; ///< CLOCK_BOOTTIME: since when none has; 0: one was there at the last look, or none ever
    /**
     * What its hooks have its device cgroup allow for the devices. Nothing, or none: that is not known, or not all that it
     * has of a device, so that they cannot be taken away.
     */
    std::optional<DeviceRules> rules = {};
    std::optional<ProcessId> taker = {}; ///< the hook that is taking the devices away, see eviction.h

    bool operator==(const Allocation &) const = default;
};

/** What the container has, of a list of a state. @return nullptr if it has nothing */
auto *find_allocation(auto &allocations, const ProcessId &init)
{
    const auto found =
        std::find_if(allocations.begin(), allocations.end(),
                     [&](const Allocation &allocation) { return allocation.holder.init == init; });
    return found == allocations.end() ? nullptr : &*found;
}

std::set<ProcessId> inits_of(const std::vector<Allocation> &allocations);

/** What a container asks for: all of it or nothing. */
struct Demand {
    std::vector<LeaseKey> fixed;
    unsigned any = 0; ///< how many of `candidates` besides
    std::vector<LeaseKey>
        candidates; ///< the first where all else is equal; where a part is one, the whole is none
    LeaseMode mode = LeaseMode::Shared;
    Quotas quotas = {};                       ///< in which all of it counts
    std::optional<unsigned> max_sharers = {}; ///< of each device, if it is shared; nothing: any number

    bool operator==(const Demand &) const = default;
};

/** Those whose end somebody who waits will notice: containers, by their inits, requests, by their numbers, and drains. */
struct Watched {
    std::set<ProcessId> holders;
    std::set<std::uint64_t> tickets;
    std::int64_t drain_ns =
        0; ///< of CLOCK_BOOTTIME: when the first of the drains ends; 0: none does by itself

    bool operator==(const Watched &) const = default;
};

/** A request that waits. */
struct Ticket {
    std::uint64_t number = 0; ///< the lower one came earlier
    ProcessId hook;           ///< the process that waits
    Holder holder;
    Demand demand;
    std::int64_t deadline_ns = 0; ///< of CLOCK_BOOTTIME; from then on it does not count
    std::int64_t since = 0;       ///< seconds of CLOCK_REALTIME; for people alone
    /** Whoever makes these too few wakes it, see lease_wake.h; nothing: it watches all that count, and takes no signal. */
    std::optional<Watched> watched = {};
    std::int64_t until =
        0; ///< the deadline in seconds of CLOCK_REALTIME, computed once; for people alone. 0: not known

    bool operator==(const Ticket &) const = default;
};

/** A device that root keeps from being given. A person and a program may each have one of the same device. */
struct Drain {
    LeaseKey key;
    std::int64_t since = 0;    ///< seconds of CLOCK_REALTIME; for people alone
    std::int64_t until_ns = 0; ///< of CLOCK_BOOTTIME; from then on it does not count. 0: it has no end
    std::string reason = {};   ///< for people
    std::string by = {};       ///< the program that made it, and ends it itself; "": a person

    bool operator==(const Drain &) const = default;
};

/** What has happened to the leases of a host since its boot, in numbers that only grow. */
struct LeaseCounts {
    static constexpr std::array wait_bounds_s{0.1, 1.0, 10.0, 60.0, 600.0, 3600.0};
    static constexpr auto vendors = std::to_array<std::string_view>({"amd", "nvidia", "other"});

    using ByVendor = std::array<std::uint64_t, vendors.size()>;

    std::uint64_t grants = 0;
    std::uint64_t takeovers = 0;   ///< by which a container was ended
    std::uint64_t revocations = 0; ///< by which it lives on
    std::uint64_t waited_ns = 0;   ///< by those that were granted something
    std::array<std::uint64_t, wait_bounds_s.size() + 1>
        waits{};          ///< how many waited longer than the bound before
    ByVendor device_ns{}; ///< of one device, by leases that have ended

    bool operator==(const LeaseCounts &) const = default;

    void add_grant(std::int64_t waited_ns);

    /** So many devices that somebody had for so long. */
    void add_time(const ByVendor &devices, std::int64_t ns);
};

/** How many devices it has of each vendor. */
LeaseCounts::ByVendor devices_by_vendor(const Allocation &allocation);

/** All that is known of the leases of a host; a plain value. */
struct LeaseState {
    std::vector<Allocation> allocations;
    std::vector<Ticket> tickets; ///< in their order
    std::vector<Drain> drains;
    std::map<LeaseKey, std::uint64_t> last_used; ///< the greater, the later it was given
    std::uint64_t uses = 0;                      ///< the greatest of them so far
    std::uint64_t numbers = 0;                   ///< how many tickets there have been
    /** Of those in `last_used`: the last containers that had it, one after the other, and ended at once; see exits_early() */
    std::map<LeaseKey, std::vector<std::uint64_t>> early_exits = {};
    /** Those who see devices and have no lease of them, nor count for others; an init may have an allocation besides. */
    std::vector<Allocation> observers = {};
    std::vector<Allocation> deprived = {}; ///< whose devices were taken away, and who live on; for people
    LeaseCounts counts = {};               ///< since the boot

    bool operator==(const LeaseState &) const = default;
};

/**
 * What of it can never be, though each of its values can: two holders of which one is exclusive, a container twice, a number
 * that comes again; "" if all is well.
 */
std::string contradiction(const LeaseState &state);

/** A device that a container has; as long as the state lasts. */
struct DeviceUse {
    const Allocation *allocation;
    const LeasedDevice *device;
};

/** Who has what of each GPU. */
using DeviceUses = ByGpu<DeviceUse>;

DeviceUses uses_of(const LeaseState &state);

/** Where and when numbers of processes mean something. */
struct ProcessSpace {
    std::string boot;                ///< /proc/sys/kernel/random/boot_id
    std::uint64_t pid_namespace = 0; ///< its inode, which another one may have had before
    std::uint64_t start_time = 0;    ///< of its process 1, in clock ticks since boot

    bool operator==(const ProcessSpace &) const = default;
};

/** What the state file says: the state, and what the pids in it mean. */
struct LeaseFile {
    ProcessSpace space;
    LeaseState state;

    bool operator==(const LeaseFile &) const = default;
};

} // namespace ogh
