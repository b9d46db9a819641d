// SPDX-License-Identifier: Apache-2.0
#include <fnmatch.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/contains.h"
#include "base/dotted_version.h"
#include "base/error.h"
#include "base/letters.h"
#include "base/path_names.h"
#include "base/text.h"
#include "engines/containerd.h"
#include "engines/toml_file.h"
#include "hook/options.h"
#include "host/host_file.h"
#include "host/sysroot.h"
#include "install/plans.h"
#include "registration/hooks.h"
#include "registration/manifest.h"

namespace ogh::admin {

namespace {

using nlohmann::ordered_json;

/** populateDefaultUnixSpec() of containerd is the same in these, but for what they hide of /sys. */
bool is_known(const DottedVersion &version)
{
    return (version >= DottedVersion{1, 6} && version < DottedVersion{1, 8}) ||
           (version >= DottedVersion{2, 0} && version < DottedVersion{2, 5});
}

// Powercap is hidden since 1.6.26 and 1.7.11, and does no harm to hide before. All sets of capabilities are the same.
constexpr const char *default_spec = R"({
  "ociVersion": "1.0.2",
  "process": {
    "user": {"uid": 0, "gid": 0},
    "cwd": "/",
    "capabilities": {
      "bounding": ["CAP_CHOWN", "CAP_DAC_OVERRIDE", "CAP_FSETID", "CAP_FOWNER", "CAP_MKNOD", "CAP_NET_RAW", "CAP_SETGID",
        "CAP_SETUID", "CAP_SETFCAP", "CAP_SETPCAP", "CAP_NET_BIND_SERVICE", "CAP_SYS_CHROOT", "CAP_KILL", "CAP_AUDIT_WRITE"]
    },
    "noNewPrivileges": true
  },
  "root": {"path": "rootfs"},
  "mounts": [
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
  ],
  "linux": {
    "resources": {"devices": [{"allow": false, "access": "rwm"}]},
    "cgroupsPath": "/default",
    "namespaces": [{"type": "pid"}, {"type": "ipc"}, {"type": "uts"}, {"type": "mount"}, {"type": "network"}],
    "maskedPaths": ["/proc/acpi", "/proc/asound", "/proc/kcore", "/proc/keys", "/proc/latency_stats",
      "/proc/timer_list", "/proc/timer_stats", "/proc/sched_debug", "/sys/firmware", "/sys/devices/virtual/powercap",
      "/proc/scsi"],
    "readonlyPaths": ["/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger"]
  }
})";

ordered_json own_copy()
{
    ordered_json spec = ordered_json::parse(default_spec);
    ordered_json &sets = spec["process"]["capabilities"];
    const ordered_json all = sets["bounding"];
    sets["effective"] = all;
    sets["permitted"] = all;
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

/**
 * The spec from which containerd makes those of containers, as `ctr oci spec` prints it, without its limits of resources,
 * which the plugin for CRI takes out where no base spec is named.
 * @param version of containerd; nothing if it is not known
 * @param file in place of that: what it says; nothing for this command's own copy
 * @throws Error (BrokenHost) for a version that this command has no copy for, and for a file that is no spec
 */
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

/**
 * The spec as a text, with these entries of `hooks` for createRuntime, in this order and behind those of others: what it
 * has of this collection is left out.
 */
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

constexpr const char *spec_prefix = "/etc/containerd/oci-gpu-hooks-";
constexpr const char *usual_drop_ins = "/etc/containerd/conf.d/*.toml";

// What containerd 1 has of itself as long as no runtime is named, and not from then on.
constexpr const char *built_in_options = R"(  BinaryName = ""
  CriuImagePath = ""
  CriuPath = ""
  CriuWorkPath = ""
  IoGid = 0
  IoUid = 0
  NoNewKeyring = false
  NoPivotRoot = false
  Root = ""
  ShimCgroup = ""
  SystemdCgroup = false
)";

/** The name of a RuntimeClass's handler: a label of DNS. */
std::string checked_name(const std::string &name)
{
    const auto is_inner = [](char c) { return is_digit(c) || (c >= 'a' && c <= 'z') || c == '-'; };
    constexpr size_t longest = 63;
    if (name.empty() || name.size() > longest || name.front() == '-' || name.back() == '-' ||
        !std::all_of(name.begin(), name.end(), is_inner))
        throw Error(ErrorKind::Usage,
                    "--runtime takes small letters, digits and '-', at most 63: " + quote(name));
    return name;
}

std::string spec_path(const std::string &runtime)
{
    return spec_prefix + runtime + ".json";
}

bool is_ours(const ContainerdRuntime &runtime)
{
    return runtime.base_spec == spec_path(runtime.name);
}

std::string table_head(std::int64_t version, const std::string &runtime)
{
    return std::string("plugins.\"") + containerd_plugin(version) + "\".containerd.runtimes." + runtime;
}

class RuntimePlanner final {
public:
    RuntimePlanner(const InstallHost &host, const InstallRequest &request)
        : host_(host), request_(request), name_(checked_name(request.runtime.value_or("gpu"))),
          version_(version_of(*host.sysroot, request.kind->program)),
          config_(read_containerd(*host.sysroot, text_of_others()))
    {
    }

    InstallPlan plan()
    {
        check_version();
        check_name();
        plan_spec();
        if (is_in_main_file())
            plan_part();
        else
            plan_drop_in();
        say_the_rest();
        return std::move(plan_);
    }

private:
    /** The main file without what was written there for this runtime before. */
    [[nodiscard]] std::optional<std::string> text_of_others() const
    {
        const PresentFile present = RootFiles::of_host(*host_.sysroot).look(containerd_main_file);
        if (!present.is_plain)
            return std::nullopt;
        return with_part(present.text, name_, "");
    }

    void check_version() const
    {
        if (config_.exists && config_.version < 2)
            throw Error(ErrorKind::BrokenHost,
                        quote(containerd_main_file) +
                            " does not say version = 2, or a later one: bring it to that "
                            "first, see containerd-config.toml(5)");
    }

    void check_name() const
    {
        for (const ContainerdRuntime &runtime : config_.runtimes())
            if (runtime.name == name_ && !is_ours(runtime))
                throw Error(ErrorKind::BrokenHost,
                            quote(config_.plugin_file) + " has a runtime " + quote(name_) +
                                " that this command did not write: name another one with --runtime");
    }

    /** What the spec was written with before, for the hooks that are not named now, or without options. */
    [[nodiscard]] std::vector<HookFile> hooks_before() const
    {
        const auto text = read_host_file(*host_.sysroot, spec_path(name_), size_t{1} << 20U);
        return text && host_.manifest.find(spec_path(name_)) != nullptr
                   ? parse_base_spec(spec_path(name_), *text)
                   : std::vector<HookFile>();
    }

    /** Those that are named, those that are there, and the one that goes along with them. */
    void plan_spec()
    {
        const std::vector<const OurHook *> wanted = wanted_hooks(*host_.sysroot, request_);
        const std::vector<HookFile> before = hooks_before();
        std::vector<ordered_json> entries;
        for (const OurHook &hook : our_hooks()) {
            const auto old = std::find_if(before.begin(), before.end(),
                                          [&](const HookFile &file) { return file.ours == &hook; });
            const bool is_named = contains(wanted, &hook);
            const bool goes_along = hook.name == "ldcache-update" && host_.sysroot->find(hook.executable);
            if (is_named && (old == before.end() || !request_.options.empty()))
                entries.push_back(hook_entry(hook, request_.options));
            else if (old != before.end())
                entries.push_back(hook_entry(hook, {old->args.begin() + 1, old->args.end()}));
            else if (goes_along)
                entries.push_back(hook_entry(hook, {}));
        }
        std::string text = with_hooks(base_spec(*host_.sysroot, version_, request_.base_spec), entries);
        check_spec(text);
        plan_.files.push_back(planned_file(request_, spec_path(name_), std::move(text)));
    }

    /** The doctor looks at each hook before it is written. */
    void check_spec(const std::string &text)
    {
        const Engine none = request_.kind->new_engine(host_.sysroot);
        Engine engine = none;
        engine.runtime = name_;
        engine.directories.push_back({spec_path(name_), true, "", parse_base_spec(spec_path(name_), text)});
        plan_.said = checked_calls(engine, none);
        for (const HookFile &file : engine.directories.front().files)
            by_annotations_ =
                by_annotations_ || (file.ours != nullptr &&
                                    option_of(file, "--from").value_or("").find("cdi-") != std::string::npos);
    }

    [[nodiscard]] bool is_in_main_file() const
    {
        return version_ ? version_->major() < 2 : config_.version < first_that_merges;
    }

    [[nodiscard]] std::string tables(std::int64_t version) const
    {
        const std::string head = table_head(version, name_);
        return "[" + head + "]\n  runtime_type = \"io.containerd.runc.v2\"\n  base_runtime_spec = \"" +
               spec_path(name_) + "\"\n" +
               R"(  pod_annotations = ["io.oci-gpu-hooks.*", "io.oci-gpu-hooks.*/*"])" + "\n" +
               (by_annotations_ ? "  container_annotations = [\"cdi.k8s.io/*\", \"nvidia.cdi.k8s.io/*\"]\n"
                                : "") +
               "[" + head + ".options]\n  SystemdCgroup = " +
               (config_.default_runtime().systemd_cgroup ? "true" : "false") + "\n";
    }

    /** Of containerd 1, as it has it without any runtime; "" where others are named. */
    [[nodiscard]] std::string built_in() const
    {
        const auto runtimes = config_.runtimes();
        if (!version_ || !std::all_of(runtimes.begin(), runtimes.end(), is_ours))
            return "";
        const std::string head = table_head(config_.version, "runc");
        const bool has_mode = *version_ >= DottedVersion{1, 7};
        return "# As long as no runtime is named, containerd has this one by itself.\n[" + head +
               "]\n  runtime_type = \"io.containerd.runc.v2\"\n" +
               (has_mode ? "  sandbox_mode = \"podsandbox\"\n" : "") + "[" + head + ".options]\n" +
               built_in_options;
    }

    void plan_part()
    {
        const std::string path = quote(containerd_main_file);
        if (!config_.exists)
            throw Error(ErrorKind::BrokenHost,
                        "there is no " + path + ": containerd config default > " + containerd_main_file);
        if (!config_.plugin_file.empty() && config_.plugin_file != containerd_main_file)
            throw Error(ErrorKind::BrokenHost,
                        quote(config_.plugin_file) +
                            " has the plugin for CRI, and takes the place of all that " + path +
                            " says of it: move that into the main file, and run this again");
        std::string part = marked(name_, built_in() + tables(config_.version));
        const auto runtimes =
            read_containerd(*host_.sysroot, with_part(text_of_others().value_or(""), name_, part)).runtimes();
        if (std::none_of(runtimes.begin(), runtimes.end(),
                         [&](const ContainerdRuntime &each) { return each.name == name_ && is_ours(each); }))
            throw Error(ErrorKind::BrokenHost,
                        "the runtime " + quote(name_) + " would not be in effect by " + path);
        plan_.files.push_back(planned_file(request_, containerd_main_file, std::move(part)));
        plan_.files.back().file.part = name_;
    }

    void plan_drop_in()
    {
        const std::string file = "oci-gpu-hooks-" + name_ + ".toml";
        // Of the main file's version: of another one, containerd 2 brings only one of the two to its own names.
        const std::int64_t version = config_.exists ? config_.version : first_that_merges;
        std::string directory = directory_of(usual_drop_ins);
        bool is_reached = false;
        for (const std::string &import : config_.imports) {
            const std::string path = path_of_import(containerd_main_file, import);
            if (!is_reached && directory_of(path).find('*') == std::string::npos &&
                ::fnmatch(file_name_of(path).c_str(), file.c_str(), 0) == 0) {
                directory = directory_of(path);
                is_reached = true;
            }
        }
        plan_.files.push_back(planned_file(request_, path_in(directory, file),
                                           "# Written by oci-gpu-hooks install.\nversion = " +
                                               std::to_string(version) + "\n" + tables(version)));
        if (!is_reached)
            say_what_to_import();
    }

    void say_what_to_import()
    {
        std::string list;
        for (const std::string &import : config_.imports)
            list += nlohmann::json(import).dump() + ", ";
        plan_.said.push_back(std::string("no file there is read so far: have this ") +
                             (config_.exists ? "above the first table of " : "in a file ") +
                             containerd_main_file + ":\n" + (config_.exists ? "" : "    version = 3\n") +
                             "    imports = [" + list + "\"" + usual_drop_ins + "\"]");
    }

    void say_the_rest()
    {
        plan_.said.emplace_back("containerd reads this when it starts: systemctl restart containerd");
        plan_.said.push_back(
            "pods have it by a RuntimeClass with the handler " + quote(name_) +
            ", which they name by runtimeClassName; a pod without gets nothing, and no word of it");
    }

    const InstallHost &host_;
    const InstallRequest &request_;
    std::string name_; ///< of the runtime
    std::optional<DottedVersion> version_;
    ContainerdConfig config_;     ///< without what was written for this runtime before
    bool by_annotations_ = false; ///< a device plugin says by them what it has chosen
    InstallPlan plan_;
};

} // namespace

bool wants_runtime(const InstallRequest &request)
{
    return request.runtime ||
           std::any_of(request.options.begin(), request.options.end(),
                       [](const auto &word) { return word == "--from" || word.starts_with("--from="); });
}

InstallPlan plan_runtime(const InstallHost &host, const InstallRequest &request)
{
    return RuntimePlanner(host, request).plan();
}

} // namespace ogh::admin
