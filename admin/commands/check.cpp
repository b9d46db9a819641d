// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/duration.h"
#include "base/error.h"
#include "base/file.h"
#include "base/number.h"
#include "base/text.h"
#include "commands/command.h"
#include "health/faults.h"
#include "health/kernel_log.h"
#include "host/drm_nodes.h"
#include "host/host_file.h"
#include "host/pci_address.h"
#include "host/pci_devices.h"
#include "host/sysroot.h"
#include "kernel/directory_entries.h"
#include "lease/leases.h"
#include "lease/state/boot_clock.h"
#include "lease/waiting/lease_directory.h"

namespace ogh::admin {

namespace {

/** A display controller that a GPU driver has, as sysfs shows it. */
struct PciGpu {
    std::string vendor; ///< of lease keys: "nvidia", "amd"
    PciAddress address;
    bool is_virtual = false; ///< a virtual function
    /**
     * Which time that its driver has taken it: the number of its link among the driver's devices in sysfs, which is made
     * anew each time. The kernel uses no such number twice before the next boot (kernfs_new_node() of Linux).
     */
    std::uint64_t binding = 0;
};

constexpr size_t max_gpus = 1024;
constexpr size_t max_sysfs_file = 4096;

constexpr std::array drivers{std::pair{"nvidia", "nvidia"}, std::pair{"amd", "amdgpu"}};

/** NVIDIA's driver has NVSwitches too. */
bool is_gpu(const Sysroot &sysroot, const std::string &device)
{
    const auto kind = read_host_file(sysroot, device + "/class", max_sysfs_file);
    return kind && kind->starts_with("0x03");
}

void add_gpus(const Sysroot &sysroot, const std::string &vendor, const std::string &driver,
              std::vector<PciGpu> &gpus)
{
    const std::string path = "/sys/bus/pci/drivers/" + driver;
    const auto directory = sysroot.find(path);
    if (!directory)
        return;
    const auto is_address = [](std::string_view name) { return parse_pci_address(name).has_value(); };
    const DirectoryListing listing{quote(sysroot.on_host(path)), is_address, max_gpus, ErrorKind::BrokenHost};
    for (const DirectoryEntry &entry : list_directory(directory->fd.get(), listing)) {
        const PciAddress address = *parse_pci_address(entry.name);
        const std::string device = sysfs_directory(address);
        struct stat status {};
        if (is_gpu(sysroot, device) &&
            ::fstatat(directory->fd.get(), entry.name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0)
            gpus.push_back({vendor, address, sysroot.find(device + "/physfn").has_value(), status.st_ino});
    }
}

/** "ue: 3", the first line. */
std::optional<std::uint64_t> uncorrectable_of(std::string_view text)
{
    constexpr std::string_view name = "ue: ";
    if (!text.starts_with(name))
        return std::nullopt; // "Query currently inaccessible"
    text.remove_prefix(name.size());
    return parse_number(text.substr(0, text.find('\n')));
}

/** Those of nvidia and amdgpu, by vendor and address. Looking at them wakes none. @throws Error */
std::vector<PciGpu> find_pci_gpus(const Sysroot &sysroot)
{
    std::vector<PciGpu> gpus;
    for (const auto &[vendor, driver] : drivers)
        add_gpus(sysroot, vendor, driver, gpus);
    return gpus;
}

/**
 * Sums up `ras/NAME_err_count` of a GPU of amdgpu's. Reading them asks the hardware, and on many GPUs sets them to 0: for
 * whoever asks for it alone. One that is asleep is not woken.
 * @return nothing where it does not count, is asleep, or does not answer now. @throws Error
 */
std::optional<std::uint64_t> uncorrectable_errors(const Sysroot &sysroot, const PciAddress &address)
{
    const std::string device = sysfs_directory(address);
    const auto power = read_host_file(sysroot, device + "/power/runtime_status", max_sysfs_file);
    const std::string path = device + "/ras";
    const auto directory = sysroot.find(path);
    if (!directory || (power && !power->starts_with("active") && !power->starts_with("unsupported")))
        return std::nullopt;
    const auto is_count = [](std::string_view name) { return name.ends_with("_err_count"); };
    const DirectoryListing listing{quote(sysroot.on_host(path)), is_count, max_gpus, ErrorKind::BrokenHost};
    std::optional<std::uint64_t> sum;
    for (const DirectoryEntry &entry : list_directory(directory->fd.get(), listing)) {
        const auto text =
            read_file_in(directory->fd.get(), entry.name, max_sysfs_file, quote(path + "/" + entry.name));
        if (const auto count = text ? uncorrectable_of(*text) : std::nullopt)
            sum = sum.value_or(0) + *count;
    }
    return sum;
}

struct CheckOptions {
    bool drain = false;
    std::string settle = "10m";
    std::optional<unsigned> max_uncorrectable;
    std::vector<std::string> wedged;
    std::optional<std::string> kmsg;
    std::string format = "text";
};

/** The file in the directory of the leases that keeps a Memory; locked as long as this lasts. */
class MemoryFile final {
public:
    explicit MemoryFile(const Sysroot &sysroot) : fd_(LeaseDirectory(sysroot).open_private("check", O_RDWR))
    {
        lock_file(fd_.get(), what, processes_, LeaseStore::patience);
    }

    /** Nothing is left of what another boot has left, or a crash of the host. */
    [[nodiscard]] Memory read() const
    {
        const std::string &boot = processes_.space().boot;
        auto memory = parse_memory(read_all(fd_.get(), max_size, what));
        return memory && memory->boot == boot ? std::move(*memory) : Memory{boot, 0, {}};
    }

    void write(const Memory &memory) const
    {
        if (::ftruncate(fd_.get(), 0) != 0 || ::lseek(fd_.get(), 0, SEEK_SET) != 0)
            throw SystemError(errno, std::string("cannot shorten ") + what, ErrorKind::BrokenHost);
        write_all(fd_.get(), to_text(memory), what);
    }

private:
    static constexpr size_t max_size = size_t{1} << 20U;
    static constexpr const char *what = "what 'check' has seen so far";

    Processes processes_;
    UniqueFd fd_;
};

/** One look, from what there was to what there is. */
class Look final {
public:
    Look(std::shared_ptr<const Sysroot> sysroot, const CheckOptions &wanted)
        : sysroot_(std::move(sysroot)), wanted_(wanted), now_{boottime_ns(), unix_time()}
    {
    }

    CheckFindings recorded()
    {
        Memory memory;
        read_recorded_log(*wanted_.kmsg, [&](const LogRecord &record) {
            auto sign = sign_of(record);
            if (sign && sign->kind == Sign::Kind::Claimed)
                sign->kind = Sign::Kind::Failed; // what the log says is what was asked for
            if (sign && sign->kind == Sign::Kind::Reported)
                report(*sign);
            else if (sign)
                apply(memory, *sign, now_);
        });
        compare(memory, {});
        return found(std::move(memory));
    }

    CheckFindings now()
    {
        const MemoryFile file(*sysroot_);
        Memory memory = file.read();
        Leases leases(*sysroot_);
        const std::vector<Drain> drains = Leases::look(*sysroot_, {}).drains;
        compare(memory, drains);
        for (const auto &[key, index] : numbered_gpus(sysroot_)) {
            findings_.gpus.try_emplace(key, index); // the first number of one that has several
            gpus_.insert(key);
        }
        const std::vector<PciGpu> with_driver = find_pci_gpus(*sysroot_);
        look_at_drivers(memory, with_driver);
        see_bindings(memory, with_driver); // of what failed before
        read_log(memory);
        for (const std::string &text : wanted_.wedged)
            use_wedged(memory, text);
        ask_the_bus(memory);
        see_bindings(memory, with_driver); // of what has failed
        compare(memory, drains);
        if (wanted_.drain)
            change_drains(memory, leases);
        file.write(memory);
        return found(std::move(memory));
    }

private:
    CheckFindings found(Memory memory)
    {
        if (left_out_ != 0)
            findings_.notes.push_back(std::to_string(left_out_) +
                                      " messages are left out: of GPUs that this host does not have, or more "
                                      "than can be shown");
        findings_.faults = std::move(memory.faults);
        return std::move(findings_);
    }

    void report(const Sign &sign)
    {
        constexpr size_t most = 256; // who can write into the log can write ever new ones
        const std::pair key(sign.gpu, sign.text);
        if (findings_.reports.size() < most || findings_.reports.contains(key))
            ++findings_.reports[key];
        else
            ++left_out_;
    }

    /** What is said of a GPU that the host does not have is somebody's invention. */
    void use(Memory &memory, Sign sign)
    {
        if (!gpus_.contains(sign.gpu)) {
            ++left_out_;
        } else if (sign.kind == Sign::Kind::Claimed) {
            claims_.insert_or_assign(sign.gpu, sign.text);
            sign.text += not_drained;
            report(sign);
        } else if (sign.kind == Sign::Kind::Reported) {
            report(sign);
        } else {
            apply(memory, sign, now_);
        }
    }

    void read_log(Memory &memory)
    {
        const LogReading reading = read_kernel_log(*sysroot_, memory.next, [&](const LogRecord &record) {
            if (const auto sign = sign_of(record))
                use(memory, *sign);
        });
        memory.next = reading.next;
        if (!reading.not_looked_at.empty())
            findings_.not_looked_at.push_back(reading.not_looked_at);
    }

    /** "ADDRESS=METHOD,…": what the uevent of amdgpu's says, see Documentation/gpu/drm-uapi.rst of Linux, "Device Wedging". */
    void use_wedged(Memory &memory, const std::string &text)
    {
        const size_t end = text.find('=');
        const auto address = parse_pci_address(text.substr(0, end));
        const std::string methods = end == std::string::npos ? "" : text.substr(end + 1);
        if (!address || methods.empty())
            throw Error(ErrorKind::Usage,
                        "--wedged takes ADDRESS=METHOD, such as '0000:03:00.0=rebind', and not " +
                            quote(text));
        const LeaseKey gpu = gpu_lease_key("amd", *address);
        const bool is_over = methods == "none";
        use(memory, {is_over ? Sign::Kind::Over : Sign::Kind::Failed, gpu,
                     is_over ? "its reset succeeded" : "it is wedged, and wants " + printable(methods)});
    }

    void look_at_drivers(Memory &memory, const std::vector<PciGpu> &with_driver)
    {
        for (const PciGpu &gpu : with_driver) {
            const LeaseKey key = gpu_lease_key(gpu.vendor, gpu.address);
            gpus_.insert(key);
            if (!findings_.gpus.contains(key) && !gpu.is_virtual)
                findings_.notes.push_back("the " + gpu.vendor + " GPU " + to_text(gpu.address) +
                                          " has its driver, and no hook lists it");
            if (wanted_.max_uncorrectable && gpu.vendor == "amd")
                count_errors(memory, key, gpu.address);
        }
    }

    void count_errors(Memory &memory, const LeaseKey &key, const PciAddress &address)
    {
        try {
            const auto count = uncorrectable_errors(*sysroot_, address);
            if (count && *count > *wanted_.max_uncorrectable)
                apply(
                    memory,
                    {Sign::Kind::Failed, key, std::to_string(*count) + " uncorrectable errors of its memory"},
                    now_);
        } catch (const Error &error) {
            findings_.not_looked_at.push_back("the errors of " + key + ": " + error.what());
        }
    }

    void see_bindings(Memory &memory, const std::vector<PciGpu> &with_driver) const
    {
        for (const PciGpu &gpu : with_driver)
            apply_binding(memory, gpu_lease_key(gpu.vendor, gpu.address), gpu.binding, now_);
    }

    /** What sleeps or does not show it is neither one nor the other. */
    void ask_the_bus(Memory &memory)
    {
        const PciDevices devices(*sysroot_);
        for (const LeaseKey &key : gpus_) {
            const auto address = parse_pci_address(address_in(key));
            const PciAnswer answer = address ? devices.ask(*address) : PciAnswer::NotAsked;
            if (answer == PciAnswer::None) {
                apply_state(memory, key, "it looks dead: nothing answers for it on its bus", now_);
                believe_claim(memory, key);
            } else if (answer == PciAnswer::Answers) {
                apply_state(memory, key, std::nullopt, now_);
            }
        }
    }

    /** Of a GPU that does not answer: it takes more than an answer until its driver can use it again. */
    void believe_claim(Memory &memory, const LeaseKey &gpu)
    {
        const auto claim = claims_.find(gpu);
        if (claim == claims_.end())
            return;
        apply(memory, {Sign::Kind::Failed, gpu, claim->second}, now_);
        findings_.reports.erase({gpu, claim->second + not_drained});
    }

    void change_drains(Memory &memory, Leases &leases) const
    {
        const std::chrono::nanoseconds settle = *parse_duration(wanted_.settle);
        const DrainChanges changes = settle_drains(memory, settle.count(), now_);
        for (const Drain &drain : changes.drain)
            leases.drain(drain);
        for (const LeaseKey &gpu : changes.undrain)
            leases.undrain(gpu, drained_by_check);
    }

    static constexpr const char *not_drained = " (not drained: only the kernel's log says so)";

    std::shared_ptr<const Sysroot> sysroot_;
    const CheckOptions &wanted_;
    Moment now_;
    CheckFindings findings_;
    std::set<LeaseKey> gpus_;                ///< that the host has: hooks list them, or a driver has them
    std::map<LeaseKey, std::string> claims_; ///< the last of each GPU
    size_t left_out_ = 0;                    ///< messages
};

void check_usage(const CheckOptions &wanted)
{
    if (!parse_duration(wanted.settle))
        throw Error(ErrorKind::Usage,
                    "--settle takes a time such as '90s', '5m' or '2h', and not " + quote(wanted.settle));
    if (wanted.kmsg && (wanted.drain || wanted.max_uncorrectable || !wanted.wedged.empty()))
        throw Error(ErrorKind::Usage, "--kmsg reads a file, and looks at nothing of this host: it goes with "
                                      "--format alone");
}

CheckFindings find(const Invocation &call, const CheckOptions &wanted)
{
    check_usage(wanted);
    const auto sysroot = call.open();
    Look look(sysroot, wanted);
    if (wanted.kmsg)
        return look.recorded();
    Leases::require(*sysroot, "do this");
    return look.now();
}

/** For node-problem-detector an error is what it cannot tell, and not a problem of the node's. */
int check_for_npd(const Invocation &call, const CheckOptions &wanted)
{
    try {
        const CheckFindings findings = find(call, wanted);
        print(to_npd_line(findings));
        return verdict_of(findings).npd_status;
    } catch (const Error &error) {
        print(npd_line(error.what()));
        return not_looked_at.npd_status;
    }
}

} // namespace

int check(CommandLine &cli, Invocation &call)
{
    CheckOptions wanted;
    cli.add_flag("--drain", "Give those that have failed to nobody, and again what was reset", wanted.drain);
    cli.add({"--settle", "TIME", "How long after that (default: 10m)"}, wanted.settle);
    cli.add(
        {"--max-uncorrectable", "N",
         "Of amdgpu: more uncorrectable errors are a failure. Reading may set them to 0 (default: not read)"},
        wanted.max_uncorrectable);
    cli.add({"--wedged", "ADDRESS=METHOD", "What a uevent of amdgpu's says (default: none)"}, wanted.wedged);
    cli.add({"--kmsg", "FILE", "Say what this log means, and look at nothing else (default: /dev/kmsg)"},
            wanted.kmsg);
    cli.add_choice({"--format", "NAME", "text, json or npd (default: text)"}, {"text", "json", "npd"},
                   [&](const std::string &name) { wanted.format = name; });
    if (!call.parse())
        return EXIT_SUCCESS;
    if (wanted.format == "npd")
        return check_for_npd(call, wanted);
    const CheckFindings findings = find(call, wanted);
    print(wanted.format == "json" ? to_json(findings) : to_text(findings));
    return verdict_of(findings).exit_status;
}

} // namespace ogh::admin
