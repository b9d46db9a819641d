// SPDX-License-Identifier: Apache-2.0
#include "health/kernel_log.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "base/error.h"
#include "base/file.h"
#include "base/number.h"
#include "base/text.h"
#include "base/unique_fd.h"
#include "engines/engine.h"
#include "host/pci_address.h"
#include "kernel/proc_fs.h"

namespace ogh::admin {

namespace {

constexpr const char *log_path = "/dev/kmsg";
/** More than a record is: PRINTK_MESSAGE_MAX of Linux, 2048, and 8192 before 6.6. */
constexpr size_t max_record = size_t{16} << 10U;
/** No buffer of the kernel's holds more; who writes faster than this reads would keep it from ending. */
constexpr size_t max_records = size_t{1} << 20U;
constexpr size_t max_log = size_t{64} << 20U;

/** Goes through records in their order, and notices those that are missing. */
class Reader final {
public:
    Reader(std::uint64_t from, const UseRecord &use) : from_(from), use_(use) { reading_.next = from; }

    /** @param text whole records */
    void add_lines(std::string_view text)
    {
        constexpr std::string_view device = " DEVICE=";
        std::optional<LogRecord> record;
        while (!text.empty()) {
            const std::string_view line = text.substr(0, text.find('\n'));
            text.remove_prefix(std::min(text.size(), line.size() + 1));
            if (record && line.starts_with(device))
                record->device = line.substr(device.size());
            const auto next = parse_log_record(line);
            if (record && next)
                add(*record);
            if (next)
                record = next;
        }
        if (record)
            add(*record);
    }

    void miss(const std::string &what)
    {
        if (reading_.not_looked_at.empty())
            reading_.not_looked_at = what;
    }

    [[nodiscard]] const LogReading &reading() const { return reading_; }

private:
    void add(const LogRecord &record)
    {
        if (record.sequence < from_)
            return;
        if (record.sequence > reading_.next)
            miss(std::to_string(record.sequence - reading_.next) +
                 " messages of the kernel's log, which it has dropped to make room since the last look");
        reading_.next = record.sequence + 1;
        use_(record);
    }

    std::uint64_t from_;
    const UseRecord &use_;
    LogReading reading_;
};

/** Each read() gives one record. */
void read_device(int fd, Reader &reader)
{
    std::array<char, max_record> buffer{};
    for (size_t count = 0; count < max_records; ++count) {
        const ssize_t size = ::read(fd, buffer.data(), buffer.size());
        if (size >= 0)
            reader.add_lines(std::string_view(buffer.data(), static_cast<size_t>(size)));
        if (size == 0 || (size < 0 && errno == EAGAIN))
            return;
        // EPIPE: what came next was dropped meanwhile; the next number shows it.
        if (size < 0 && errno != EINTR && errno != EPIPE)
            return reader.miss(std::string("the kernel's log: reading /dev/kmsg: ") + std::strerror(errno));
    }
    reader.miss("the end of the kernel's log, which grows faster than it can be read");
}

LogReading not_readable(std::uint64_t from, const std::string &why)
{
    return {from, "the kernel's log: " + why};
}

/** What an Xid alone, which is what NVIDIA's driver calls an error of a GPU, says of the GPU. */
struct XidRow {
    unsigned xid;
    bool drains;             ///< if it is true, the GPU is of no use until it is reset, or worse
    const char *what;        ///< for people
    const char *catalogue;   ///< the immediate action of NVIDIA's Xid catalogue; "-": it has none
    const char *nvsentinel;  ///< the same of the table of NVIDIA's NVSentinel
    bool plugin_passes_over; ///< NVIDIA's device plugin goes on giving the GPU
    const char *checked;     ///< when these three were looked up
};

/** The one that says what the driver wants done about the others: "GPU recovery action changed from … to …". */
constexpr unsigned xid_recovery_action = 154;

/** A value of Xid 154, which is one of nvmlDeviceGpuRecoveryAction_t. */
struct RecoveryAction {
    unsigned value;
    bool drains;      ///< as of XidRow
    const char *what; ///< NVML's words; the driver's own differ from branch to branch
};

constexpr const char *day = "2026-11-25";

// Where they stand:
//   catalogue   docs.nvidia.com/deploy/xid-errors/analyzing-xid-catalog.html, "Resolution Bucket (Immediate Action)"
//   NVSentinel  github.com/NVIDIA/NVSentinel, xiderrorsmapping.csv
//   plugin      github.com/NVIDIA/k8s-device-plugin, internal/rm/health.go, of 2026-08-19: it takes every Xid but these for
//               the end of the GPU
// An Xid drains where the catalogue wants the GPU reset or the host rebooted, but for 109, which a hanging program makes and
// the plugin passes over, and 155. Where the catalogue and NVSentinel differ the catalogue counts, which is the newer one.
constexpr std::array table{
    XidRow{13, false, "exception of the graphics engine", "RESTART_APP", "RESTART_APP", true, day},
    XidRow{31, false, "page fault of the GPU", "RESTART_APP", "RESTART_APP", true, day},
    XidRow{43, false, "a program's fault stopped it", "IGNORE", "IGNORE", true, day},
    XidRow{45, false, "a program was torn down", "WORKFLOW_XID_45", "WORKFLOW_XID_45", true, day},
    XidRow{46, true, "the GPU stopped processing", "RESET_GPU", "RESET_GPU", false, day},
    XidRow{48, true, "uncorrectable memory error", "WORKFLOW_XID_48", "WORKFLOW_XID_48", false, day},
    XidRow{61, false, "breakpoint of the microcontroller", "CONTACT_SUPPORT", "UNEXPECTED_ERR_REPORT_ISSUE",
           false, day},
    XidRow{62, true, "the microcontroller halted", "RESET_GPU", "RESET_GPU", false, day},
    XidRow{63, false, "memory was remapped", "IGNORE", "IGNORE", false, day},
    XidRow{64, true, "memory could not be remapped", "RESET_GPU", "RESET_GPU", false, day},
    XidRow{68, false, "exception of the video decoder", "RESTART_APP", "RESTART_APP", true, day},
    // The other end of the link may be the one that failed.
    XidRow{74, false, "error of an NVLink", "WORKFLOW_NVLINK_ERR", "WORKFLOW_NVLINK_ERR", false, day},
    XidRow{79, true, "the GPU has fallen off the bus", "RESTART_BM", "RESTART_BM", false, day},
    XidRow{92, false, "many corrected memory errors", "IGNORE", "IGNORE", false, day},
    XidRow{94, false, "contained memory error", "RESTART_APP", "RESTART_APP", false, day},
    XidRow{95, true, "uncontained memory error", "RESET_GPU", "RESET_GPU", false, day},
    XidRow{109, false, "context switch timed out", "RESET_GPU", "RESET_GPU", true, day},
    XidRow{110, true, "security fault", "RESET_GPU", "RESET_GPU", false, day},
    XidRow{119, true, "the GSP does not answer", "RESET_GPU", "RESET_GPU", false, day},
    XidRow{120, true, "error of the GSP", "RESET_GPU", "RESET_GPU", false, day},
    XidRow{121, false, "corrected error of the link to the CPU", "IGNORE", "IGNORE", false, day},
    XidRow{136, true, "training of a link failed", "RESET_GPU", "RESET_GPU", false, day},
    XidRow{140, true, "unrecovered memory error", "RESET_GPU", "RESET_GPU", false, day},
    XidRow{143, true, "initialization failed", "RESET_GPU", "RESET_GPU", false, day},
    // "Link down events which are flagged as intentional (including transitions to SLEEP) will trigger this Xid", says the
    // catalogue of it: a suspend would drain all GPUs.
    XidRow{155, false, "an NVLink went down", "RESET_GPU", "RESET_GPU", false, day},
    XidRow{156, true, "a resource was retired", "RESET_GPU", "RESET_GPU", false, day},
    XidRow{158, true, "fatal timeout", "RESET_GPU", "RESET_GPU", false, day},
    XidRow{160, false, "a channel was retired", "IGNORE", "RESTART_BM", false, day},
    // "Power Smoothing HW Circuitry capability reengaged", which is good news.
    XidRow{162, false, "power smoothing works again", "-", "RESET_GPU", false, day},
};

// nvml.h, nvmlDeviceGpuRecoveryAction_t; looked up on 2026-11-25. In the log 1 was "GPU Reset Required" and is "PF FLR" of
// late, 2 "Node Reboot Required" and "OS Reboot": the number decides.
constexpr std::array actions{
    RecoveryAction{0, false, "none"},
    RecoveryAction{1, true, "reset the GPU"},
    RecoveryAction{2, true, "reboot"},
    RecoveryAction{3, false, "drain peer-to-peer traffic"},
    RecoveryAction{4, true, "drain and reset the GPU"},
    RecoveryAction{5, false, "recover the IMEX domain"}, // the GPU itself is well
    RecoveryAction{6, true, "reset the GPU's bus"},
    RecoveryAction{7, true, "reboot the system"},
};

/** @return nullptr for one that the table does not have: it is reported */
const XidRow *find_xid(unsigned xid)
{
    const auto *const found =
        std::find_if(table.begin(), table.end(), [&](const XidRow &row) { return row.xid == xid; });
    return found == table.end() ? nullptr : found;
}

/** @return nullptr for one that there was not when this was written: it is reported */
const RecoveryAction *find_recovery_action(unsigned value)
{
    return value < actions.size() ? &actions.at(value) : nullptr;
}

using Kind = Sign::Kind;

constexpr size_t max_text = 100;

/** Takes `prefix` off. @return whether it was there */
bool take(std::string_view &text, std::string_view prefix)
{
    if (!text.starts_with(prefix))
        return false;
    text.remove_prefix(prefix.size());
    return true;
}

/** Takes all up to `end`, and that too. @return nothing if it is not there */
std::optional<std::string_view> take_until(std::string_view &text, std::string_view end)
{
    const size_t place = text.find(end);
    if (place == std::string_view::npos)
        return std::nullopt;
    const std::string_view found = text.substr(0, place);
    text.remove_prefix(place + end.size());
    return found;
}

/**
 * Whether that may be a line of netfilter's log: "PREFIXIN=eth0 OUT= SRC=…", by net/netfilter/nf_log_syslog.c of Linux, or
 * "PREFIX IN=eth0 OUT= MAC source = …", by net/bridge/netfilter/ebt_log.c. It is the kernel's own, and begins with up to 127
 * bytes that a rule's author has chosen: root of a container that has the host's network. No name of a device has a blank.
 * What follows is not looked at: a driver's message with the name of a program that is called so is passed over as well.
 */
bool may_be_of_netfilter(std::string_view text)
{
    constexpr std::string_view out = " OUT=";
    for (size_t place = text.find(out); place != std::string_view::npos; place = text.find(out, place + 1)) {
        const std::string_view word = text.substr(0, place);
        if (word.substr(word.rfind(' ') + 1).find("IN=") != std::string_view::npos) // npos + 1 is 0
            return true;
    }
    return false;
}

/** Behind "Xid 154, ": the number of the new action. What a program is called does not hold all of these words. */
std::optional<unsigned> new_recovery_action(std::string_view text)
{
    constexpr int hexadecimal = 16;
    if (!take_until(text, "GPU recovery action changed from 0x") || !take_until(text, ") to 0x"))
        return std::nullopt;
    const auto value =
        parse_number(text.substr(0, text.find_first_not_of("0123456789abcdefABCDEF")), hexadecimal);
    return value && *value <= 0xFFU ? std::optional(static_cast<unsigned>(*value)) : std::nullopt;
}

Sign recovery_sign(const LeaseKey &gpu, std::string_view text)
{
    const auto value = new_recovery_action(text);
    const RecoveryAction *const action = value ? find_recovery_action(*value) : nullptr;
    if (action == nullptr)
        return {Kind::Reported, gpu,
                "Xid 154, an action that is not known: " + printable(text.substr(0, max_text))};
    return {action->drains ? Kind::Claimed : Kind::Reported, gpu,
            std::string("Xid 154, recovery action: ") + action->what};
}

/** Behind "NVRM: Xid (PCI:": "0000:18:00): 79, …", of an instance of a GPU "0000:18:00 GPU-I:05): 13, …". */
std::optional<Sign> xid_sign(std::string_view text)
{
    constexpr unsigned max_xid = 9999;
    auto place = take_until(text, "): ");
    const auto number = take_until(text, ",");
    if (!place || !number)
        return std::nullopt;
    const std::string_view slot = place->substr(0, place->find(' '));
    const auto address =
        parse_pci_address(std::string(slot) + (slot.find('.') == std::string_view::npos ? ".0" : ""));
    const auto xid = parse_small_number(*number, max_xid);
    if (!address || !xid)
        return std::nullopt;
    const LeaseKey gpu = gpu_lease_key("nvidia", *address);
    if (*xid == xid_recovery_action)
        return recovery_sign(gpu, text);
    const XidRow *const row = find_xid(*xid);
    const bool fails = row != nullptr && row->drains;
    return Sign{fails ? Kind::Claimed : Kind::Reported, gpu,
                "Xid " + std::to_string(*xid) + ": " +
                    (row != nullptr ? row->what : printable(trimmed(text.substr(0, max_text))))};
}

/**
 * Behind "amdgpu ", as drivers/gpu/drm/amd/amdgpu/amdgpu_device.c and amdgpu_job.c of Linux have it: "0000:03:00.0: ", with
 * another "amdgpu: " before Linux 7.0. All of these are written by dev_printk(), with the device in its field.
 */
std::optional<Sign> amd_sign(std::string_view text, std::string_view device)
{
    const auto slot = take_until(text, ": ");
    const auto address = slot ? parse_pci_address(*slot) : std::nullopt;
    if (!address || device != "+pci:" + to_text(*address))
        return std::nullopt;
    take(text, "amdgpu: ");
    const LeaseKey gpu = gpu_lease_key("amd", *address);
    if (take(text, "GPU reset end with ret = "))
        return text == "0"
                   ? Sign{Kind::Over, gpu, "its reset succeeded"}
                   : Sign{Kind::Failed, gpu, "its reset failed: " + printable(text.substr(0, max_text))};
    if (take(text, "GPU reset(") && take_until(text, ") ") && text.starts_with("succeeded"))
        return Sign{Kind::Over, gpu, "its reset succeeded"};
    if (take(text, "ring ") && text.substr(0, text.find(',')).ends_with(" timeout"))
        return Sign{Kind::Reported, gpu, "ring " + printable(text.substr(0, text.find(',')))};
    return std::nullopt;
}

} // namespace

std::optional<LogRecord> parse_log_record(std::string_view line)
{
    constexpr unsigned facility_shift = 3;
    constexpr unsigned max_priority = 1U << 20U;
    const size_t head = line.find(';');
    if (head == std::string_view::npos || line.starts_with(' '))
        return std::nullopt;
    const size_t first = line.find(',');
    const size_t second = line.find(',', first == std::string_view::npos ? first : first + 1);
    if (second == std::string_view::npos || second > head)
        return std::nullopt;
    const auto priority = parse_small_number(line.substr(0, first), max_priority);
    const auto sequence = parse_number(line.substr(first + 1, second - first - 1));
    if (!priority || !sequence)
        return std::nullopt;
    return LogRecord{*sequence, *priority >> facility_shift, line.substr(head + 1)};
}

LogReading read_kernel_log(const Sysroot &sysroot, std::uint64_t from, const UseRecord &use)
{
    // Containers have a pipe or a link to the console there, and reading that would wait or take what is another one's.
    constexpr unsigned kmsg_major = 1;
    constexpr unsigned kmsg_minor = 11;
    const auto place = sysroot.find(log_path);
    if (!place)
        return not_readable(from, "there is no /dev/kmsg");
    struct stat status {};
    if (::fstat(place->fd.get(), &status) != 0)
        throw SystemError(errno, "cannot look at /dev/kmsg", ErrorKind::BrokenHost);
    const bool is_log = S_ISCHR(status.st_mode) && status.st_rdev == ::makedev(kmsg_major, kmsg_minor);
    if (!is_log && (is_this_host(sysroot) || !S_ISREG(status.st_mode)))
        return not_readable(from, "/dev/kmsg is not the kernel's log here");
    UniqueFd fd;
    try {
        fd = ProcFs().reopen(place->fd.get(), O_RDONLY, log_path);
    } catch (const SystemError &error) {
        const int number = error.error_number();
        return not_readable(from, std::string("/dev/kmsg may not be read: ") + std::strerror(number) +
                                      (number == EPERM ? " (kernel.dmesg_restrict)" : ""));
    }
    Reader reader(from, use);
    if (is_log)
        read_device(fd.get(), reader);
    else
        reader.add_lines(read_all(fd.get(), max_log, quote(log_path)));
    return reader.reading();
}

LogReading read_recorded_log(const std::string &path, const UseRecord &use)
{
    const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
    if (!fd.valid())
        throw SystemError(errno, "cannot open " + quote(path), ErrorKind::NotAvailable);
    const std::string text = read_all(fd.get(), max_log, quote(path));
    const auto first = parse_log_record(std::string_view(text).substr(0, text.find('\n')));
    Reader reader(first ? first->sequence : 0, use);
    reader.add_lines(text);
    return {reader.reading().next, ""}; // it may be an excerpt
}

std::optional<Sign> sign_of(const LogRecord &record)
{
    std::string_view text = record.text;
    if (record.facility != 0 || may_be_of_netfilter(text))
        return std::nullopt;
    if (take(text, "NVRM: Xid (PCI:"))
        return xid_sign(text);
    return take(text, "amdgpu ") ? amd_sign(text, record.device) : std::nullopt;
}

} // namespace ogh::admin
