// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "base/error.h"
#include "base/json.h"
#include "base/text.h"
#include "engines/containerd_config.h"
#include "engines/engine.h"
#include "host/host_file.h"
#include "registration/policy_words.h"
#include "request/annotations.h"

namespace ogh::admin {

namespace {

/** Of the plugin for CRI, whose name is another one since 2.0. */
constexpr CdiSwitch containerd_cdi{
    "enable_cdi=true", "enable_cdi=false",
    "have enable_cdi = true in /etc/containerd/config.toml, below the CRI plugin"};

/** What the device plugins put in front of the names of their annotations; ours in front of theirs. */
constexpr std::array plugin_keys = {"cdi.k8s.io/x", "nvidia.cdi.k8s.io/x"};

std::string title_of(const ContainerdRuntime &runtime)
{
    return "runtime " + quote(runtime.name);
}

std::string yes_or_no(bool flag)
{
    return flag ? "true" : "false";
}

/** The two drivers give a container's cgroup names that the other one cannot use; facts of runc and kubelet. */
Findings check_cgroups(const ContainerdRuntime &runtime, const ContainerdRuntime &other)
{
    if (runtime.systemd_cgroup == other.systemd_cgroup)
        return {};
    return {{Severity::Error,
             title_of(runtime) + " has SystemdCgroup = " + yes_or_no(runtime.systemd_cgroup) +
                 ", and the default runtime " + quote(other.name) + " has " +
                 yes_or_no(other.systemd_cgroup) +
                 (runtime.systemd_cgroup ? ": kubelet cannot start its pods (FailedCreatePodSandBox)"
                                         : ": its containers run outside of their pods' cgroups and limits"),
             "have SystemdCgroup = " + yes_or_no(other.systemd_cgroup) +
                 " in its options, and restart containerd"}};
}

/** Annotations that containerd keeps from the hooks, which is nowhere to be seen in config.json. */
std::vector<std::string> kept_back(const ContainerdRuntime &runtime, const HookFile &file)
{
    const std::string key = std::string(annotation_prefix) + std::string(file.ours->name);
    std::vector<std::string> kept;
    for (const std::string &each : {key, key + "/x"})
        if (!lets_through(runtime.pod_annotations, each))
            kept.push_back(each);
    return kept;
}

bool lets_any_through(const std::vector<std::string> &patterns)
{
    return std::any_of(plugin_keys.begin(), plugin_keys.end(),
                       [&](const char *key) { return lets_through(patterns, key); });
}

/** A hook that a device plugin tells by annotations which devices it has chosen. */
Findings check_plugins_annotations(const ContainerdRuntime &runtime)
{
    if (!lets_any_through(runtime.container_annotations))
        return {
            {Severity::Error,
             title_of(runtime) + " keeps the device plugin's annotations from the hooks: a pod that "
                                 "counts a GPU starts without, and without a word",
             R"(have container_annotations = ["cdi.k8s.io/*", "nvidia.cdi.k8s.io/*"] there, and restart containerd)"}};
    if (lets_any_through(runtime.pod_annotations))
        return {{Severity::Warning,
                 title_of(runtime) +
                     " hands a pod's own annotations on as the plugin's: who writes pods can name any GPU",
                 "take cdi.k8s.io out of its pod_annotations"}};
    return {};
}

Findings check_annotations(const ContainerdRuntime &runtime, const HookFile &file)
{
    const std::string from = option_of(file, "--from").value_or("");
    if (from.find("cdi-annotations") != std::string::npos)
        return check_plugins_annotations(runtime);
    const auto kept = kept_back(runtime, file);
    if (needs_every_container(file) || kept.empty())
        return {};
    return {
        {Severity::Error,
         title_of(runtime) + " keeps the annotation " + quote(kept.front()) +
             " from the hooks: a pod that asks starts without, and without a word",
         R"(have pod_annotations = ["io.oci-gpu-hooks.*", "io.oci-gpu-hooks.*/*"] there, and restart containerd)"}};
}

/** A pod that names no runtime is not the hooks' concern, and its author may think otherwise. */
Findings check_default(const ContainerdRuntime &runtime, const ContainerdRuntime &other)
{
    if (runtime.name == other.name)
        return {};
    return {{Severity::Note,
             "pods that name no runtimeClassName have " + quote(other.name) +
                 ", and no hook of this one: one that counts a GPU starts without, and without a word",
             "have the cluster refuse such pods, as examples/kubernetes does"}};
}

/** Of a base spec: a file that registers several hooks. */
HookDirectory read_base_spec(const Sysroot &sysroot, const std::string &path)
{
    constexpr size_t most = size_t{1} << 20U;
    HookDirectory directory{path, false, {}, {}};
    try {
        const auto text = read_host_file(sysroot, path, most);
        directory.exists = text.has_value();
        if (text)
            directory.files = parse_base_spec(path, *text);
    } catch (const Error &error) {
        directory.problem = quote(path) + ": " + error.what();
    }
    return directory;
}

class Containerd final : public EngineKind {
public:
    Containerd() : EngineKind("containerd", "containerd", Way::Cdi) {}

    [[nodiscard]] std::vector<std::string> configuration(const Sysroot & /*sysroot*/) const override
    {
        return {containerd_main_file};
    }

    [[nodiscard]] const CdiSwitch *cdi() const override { return &containerd_cdi; }

    [[nodiscard]] std::string pod_key() const override { return "io.kubernetes.cri.sandbox-namespace"; }

    [[nodiscard]] bool has_base_specs() const override { return true; }

    /** Its runtimes whose base spec calls hooks of this collection. */
    [[nodiscard]] std::vector<Engine> find(const std::shared_ptr<const Sysroot> &sysroot) const override
    {
        std::vector<Engine> engines;
        if (!is_installed(*sysroot))
            return engines;
        try {
            const ContainerdConfig config = read_containerd(*sysroot);
            for (const ContainerdRuntime &runtime : config.runtimes())
                if (auto engine = read_runtime(sysroot, config, runtime))
                    engines.push_back(std::move(*engine));
        } catch (const Error &error) {
            engines.push_back(new_engine(sysroot));
            engines.back().directories_from = "its configuration cannot be read";
            engines.back().is_stopped = true;
            engines.back().findings.push_back({Severity::Error, error.what(), "fix the file"});
        }
        return engines;
    }

    [[nodiscard]] std::string how_to_ask(const std::string &device) const override
    {
        return "whoever may name a device asks by " + device +
               ", with CRI as the value of an annotation cdi.k8s.io/NAME";
    }

    [[nodiscard]] std::vector<std::string> left_to_do(const std::string & /*directory*/) const override
    {
        return {
            "containerd reads /etc/cdi for containers of CRI; before 2.0 only with enable_cdi = true below "
            "[plugins.\"io.containerd.grpc.v1.cri\"] of its config.toml"};
    }

private:
    /** @return nothing if its containers are none of ours */
    [[nodiscard]] std::optional<Engine> read_runtime(const std::shared_ptr<const Sysroot> &sysroot,
                                                     const ContainerdConfig &config,
                                                     const ContainerdRuntime &runtime) const
    {
        if (runtime.base_spec.empty())
            return std::nullopt;
        Engine engine = new_engine(sysroot);
        engine.title = "containerd, " + title_of(runtime);
        engine.runtime = runtime.name;
        engine.directory_paths = {runtime.base_spec};
        engine.directories_from = "base_runtime_spec in " + quote(config.plugin_file);
        engine.directories_file = config.plugin_file;
        engine.directories.push_back(read_base_spec(*sysroot, runtime.base_spec));
        const auto files = files_in_force(engine.directories);
        const ContainerdRuntime other = config.default_runtime();
        for (const FileInForce &each : files)
            if (each.file->ours != nullptr && each.file->ours->gives_gpus)
                add(engine.findings, check_annotations(runtime, *each.file));
        add(engine.findings, check_cgroups(runtime, other));
        add(engine.findings, check_default(runtime, other));
        const bool is_ours = std::any_of(files.begin(), files.end(),
                                         [](const FileInForce &each) { return each.file->ours != nullptr; });
        return is_ours ? std::optional(std::move(engine)) : std::nullopt;
    }
};

} // namespace

const EngineKind &containerd_kind()
{
    static const Containerd kind;
    return kind;
}

} // namespace ogh::admin
