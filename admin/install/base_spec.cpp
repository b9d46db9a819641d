// SPDX-License-Identifier: Apache-2.0
#include "install/base_spec.h"

#include "base/error.h"
#include "base/path_names.h"
#include "base/text.h"
#include "hook/options.h"
#include "host/host_file.h"
#include "registration/hooks.h"

namespace ogh::admin {

namespace {

using nlohmann::ordered_json;

/** populateDefaultUnixSpec() of containerd is the same in these, but for what they hide of /sys. */
bool is_known(const DottedVersion &version)
{
    return (version >= DottedVersion{1, 6} && version < DottedVersion{1, 8}) ||
           (version >= DottedVersion{2, 0} && version < DottedVersion{2, 5});
}

constexpr const char *process = R"({
  "user": {"uid": 0, "gid": 0},
  "cwd": "/",
  "capabilities": {},
  "noNewPrivileges": true
})";

constexpr const char *capabilities = R"([
  "CAP_CHOWN", "CAP_DAC_OVERRIDE", "CAP_FSETID", "CAP_FOWNER", "CAP_MKNOD", "CAP_NET_RAW", "CAP_SETGID",
  "CAP_SETUID", "CAP_SETFCAP", "CAP_SETPCAP", "CAP_NET_BIND_SERVICE", "CAP_SYS_CHROOT", "CAP_KILL",
  "CAP_AUDIT_WRITE"
])";

constexpr const char *mounts = R"([
  {"destination": "/proc", "type": "proc", "source": "proc", "options": ["nosuid", "noexec", "nodev"]},
  {"destination": "/dev", "type": "tmpfs", "source": "tmpfs",
   "options": ["nosuid", "strictatime", "mode=755", "size=65536k"]},
  {"destination": "/dev/pts", "type": "devpts", "source": "devpts",
   "options": ["nosuid", "noexec", "newinstance", "ptmxmode=0666", "mode=0620", "gid=5"]},
  {"destination": "/dev/shm", "type": "tmpfs", "source": "shm",
   "options": ["nosuid", "noexec", "nodev", "mode=1777", "size=65536k"]},
  {"destination": "/dev/mqueue", "type": "mqueue", "source": "mqueue", "options": ["nosuid", "noexec", "nodev"]},
  {"destination": "/sys", "type": "sysfs", "source": "sysfs", "options": ["nosuid", "noexec", "nodev", "ro"]},
  {"destination": "/run", "type": "tmpfs", "source": "tmpfs",
   "options": ["nosuid", "strictatime", "mode=755", "size=65536k"]}
])";

// Powercap is hidden since 1.6.26 and 1.7.11, and does no harm to hide before.
constexpr const char *linux_part = R"({
  "resources": {"devices": [{"allow": false, "access": "rwm"}]},
  "cgroupsPath": "/default",
  "namespaces": [{"type": "pid"}, {"type": "ipc"}, {"type": "uts"}, {"type": "mount"}, {"type": "network"}],
  "maskedPaths": ["/proc/acpi", "/proc/asound", "/proc/kcore", "/proc/keys", "/proc/latency_stats",
                  "/proc/timer_list", "/proc/timer_stats", "/proc/sched_debug", "/sys/firmware",
                  "/sys/devices/virtual/powercap", "/proc/scsi"],
  "readonlyPaths": ["/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger"]
})";

ordered_json own_copy()
{
    ordered_json spec = {{"ociVersion", "1.0.2"}, {"process", ordered_json::parse(process)}};
    for (const char *const set : {"bounding", "effective", "permitted"})
        spec["process"]["capabilities"][set] = ordered_json::parse(capabilities);
    spec["root"] = {{"path", "rootfs"}};
    spec["mounts"] = ordered_json::parse(mounts);
    spec["linux"] = ordered_json::parse(linux_part);
    return spec;
}

/** containerd's own limit of open files; others are an administrator's, and stay. */
bool is_own_limit(const ordered_json &limits)
{
    return limits == ordered_json::parse(R"([{"type": "RLIMIT_NOFILE", "hard": 1024, "soft": 1024}])");
}

ordered_json read_spec(const Sysroot &sysroot, const std::string &file)
{
    constexpr size_t most = size_t{1} << 20U;
    const auto text = read_host_file(sysroot, file, most);
    if (!text)
        throw Error(ErrorKind::BrokenHost, "there is no file " + quote(file));
    ordered_json spec = ordered_json::parse(*text, nullptr, false);
    if (!spec.is_object() || !spec.contains("ociVersion") || !spec.contains("linux") ||
        !spec.contains("process") || !spec["process"].is_object())
        throw Error(ErrorKind::BrokenHost, quote(file) + " is no spec, as 'ctr oci spec' prints one");
    if (spec["process"].contains("rlimits") && is_own_limit(spec["process"]["rlimits"]))
        spec["process"].erase("rlimits");
    return spec;
}

} // namespace

ordered_json base_spec(const Sysroot &sysroot, const std::optional<DottedVersion> &version,
                       const std::optional<std::string> &file)
{
    if (file)
        return read_spec(sysroot, absolute_directory(*file, "--base-spec"));
    if (version && is_known(*version))
        return own_copy();
    throw Error(ErrorKind::BrokenHost,
                (version ? "what containerd " + version->text() + " starts containers from is not known here"
                         : std::string("which version of containerd this is is not known")) +
                    "; run: ctr oci spec > FILE, and name it: --base-spec FILE");
}

std::string with_hooks(ordered_json spec, const std::vector<ordered_json> &hooks)
{
    ordered_json list = ordered_json::array();
    if (spec.contains("hooks") && spec["hooks"].contains("createRuntime"))
        for (const ordered_json &each : spec["hooks"]["createRuntime"])
            if (find_hook(file_name_of(each.value("path", ""))) == nullptr)
                list.push_back(each);
    for (const ordered_json &each : hooks)
        list.push_back(each);
    spec["hooks"]["createRuntime"] = std::move(list);
    return spec.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

} // namespace ogh::admin
