// SPDX-License-Identifier: Apache-2.0
#include "engines/containerd.h"

#include <fnmatch.h>

#include <algorithm>
#include <deque>

#include "base/contains.h"
#include "base/error.h"
#include "base/json.h"
#include "base/path_names.h"
#include "base/text.h"
#include "engines/engine.h"
#include "engines/toml_file.h"
#include "host/host_file.h"
#include "kernel/directory_entries.h"
#include "registration/policy_words.h"
#include "request/annotations.h"

namespace ogh::admin {

namespace {

using nlohmann::json;

constexpr size_t max_files = 128;
constexpr const char *built_in_runtime = "runc";

std::string text_in(const json &table, const std::vector<std::string> &names)
{
    const json *const found = find_in(table, names);
    return found != nullptr && found->is_string() ? found->get<std::string>() : "";
}

ContainerdRuntime runtime_of(const std::string &name, const json &table)
{
    const json *const systemd = find_in(table, {"options", "SystemdCgroup"});
    return {name, text_in(table, {"base_runtime_spec"}),
            systemd != nullptr && systemd->is_boolean() && systemd->get<bool>(),
            texts_of(find_in(table, {"pod_annotations"})),
            texts_of(find_in(table, {"container_annotations"}))};
}

/** resolveImports() in cmd/containerd/server/config. */
std::vector<std::string> files_of_import(const Sysroot &sysroot, const std::string &parent,
                                         const std::string &import)
{
    const std::string path = path_of_import(parent, import);
    if (path.find('*') == std::string::npos)
        return {path};
    const std::string directory = directory_of(path);
    const std::string pattern = file_name_of(path);
    if (directory.find('*') != std::string::npos)
        throw Error(ErrorKind::BrokenHost, quote(parent) + " imports " + quote(import) +
                                               ", and a '*' in the name of a directory is not followed here");
    const auto place = sysroot.find(directory);
    if (!place)
        return {};
    std::vector<std::string> files;
    const auto is_wanted = [&](std::string_view name) {
        return name != "." && name != ".." && ::fnmatch(pattern.c_str(), std::string(name).c_str(), 0) == 0;
    };
    const DirectoryListing listing{quote(directory), is_wanted, max_files, ErrorKind::BrokenHost};
    for (const DirectoryEntry &entry : list_directory(place->fd.get(), listing))
        files.push_back(path_in(directory, entry.name));
    return files;
}

std::vector<std::string> imports_of(const json &document)
{
    return texts_of(find_in(document, {"imports"}));
}

/** What the files say of the plugin, in their order. */
class Reader final {
public:
    explicit Reader(const Sysroot &sysroot) : sysroot_(sysroot) { config_.plugin = json::object(); }

    ContainerdConfig read(const std::optional<std::string> &main_text)
    {
        const auto main = read_toml(sysroot_, containerd_main_file, main_text);
        if (!main)
            return std::move(config_);
        config_.exists = true;
        config_.imports = imports_of(*main);
        config_.version = version_in(*main);
        take(containerd_main_file, *main);
        for (; !pending_.empty(); pending_.pop_front())
            if (const std::string path = pending_.front(); !contains(config_.files, path))
                take_import(path);
        return std::move(config_);
    }

private:
    static std::int64_t version_in(const json &document)
    {
        const json *const version = find_in(document, {"version"});
        return version != nullptr && version->is_number_integer() ? version->get<std::int64_t>() : 1;
    }

    void take_import(const std::string &path)
    {
        const auto document = read_toml(sysroot_, path);
        if (!document)
            throw Error(ErrorKind::BrokenHost,
                        quote(path) + " is imported, and is not there: containerd does not start like this");
        take(path, *document);
    }

    void take(const std::string &path, const json &document)
    {
        if (config_.files.size() == max_files)
            throw Error(ErrorKind::BrokenHost, quote(containerd_main_file) + " imports more than " +
                                                   std::to_string(max_files) + " files");
        config_.files.push_back(path);
        newest_ = std::max(newest_, version_in(document));
        if (const json *const plugin =
                find_in(document, {"plugins", containerd_plugin(version_in(document))})) {
            if (!config_.plugin_file.empty() && merges())
                config_.plugin.merge_patch(*plugin); // lists of the later file take the place of those before
            else
                config_.plugin = *plugin;
            config_.plugin_file = path;
        }
        for (const std::string &import : imports_of(document))
            for (std::string &file : files_of_import(sysroot_, path, import))
                pending_.push_back(std::move(file));
    }

    /** containerd 1 takes the whole table of a plugin from the last file that has it. */
    [[nodiscard]] bool merges() const
    {
        if (newest_ >= first_that_merges)
            return true;
        const auto installed = version_of(sysroot_, "containerd");
        return installed && installed->major() > 1;
    }

    const Sysroot &sysroot_;
    std::deque<std::string> pending_;
    std::int64_t newest_ = 1; ///< version of the files so far
    ContainerdConfig config_;
};

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

/** Whether a pattern of Go's path.Match is that of the key: '*' matches no '/'. */
bool lets_through(const std::vector<std::string> &patterns, const std::string &key)
{
    return std::any_of(patterns.begin(), patterns.end(), [&](const std::string &pattern) {
        return ::fnmatch(pattern.c_str(), key.c_str(), FNM_PATHNAME) == 0;
    });
}

/** An annotation that containerd keeps from the hook, which is nowhere to be seen in config.json; "" if there is none. */
std::string kept_back(const ContainerdRuntime &runtime, const HookFile &file)
{
    const std::string key = std::string(annotation_prefix) + std::string(file.ours->name);
    for (const std::string &each : {key, key + "/x"})
        if (!lets_through(runtime.pod_annotations, each))
            return each;
    return "";
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
    const std::string kept = kept_back(runtime, file);
    if (needs_every_container(file) || kept.empty())
        return {};
    return {
        {Severity::Error,
         title_of(runtime) + " keeps the annotation " + quote(kept) +
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

/** @return nothing if its containers are none of ours */
std::optional<Engine> read_runtime(const EngineKind &kind, const std::shared_ptr<const Sysroot> &sysroot,
                                   const ContainerdConfig &config, const ContainerdRuntime &runtime)
{
    if (runtime.base_spec.empty())
        return std::nullopt;
    Engine engine = kind.new_engine(sysroot);
    engine.title = "containerd, " + title_of(runtime);
    engine.runtime = runtime.name;
    engine.directory_paths = {runtime.base_spec};
    engine.directories_from = "base_runtime_spec in " + quote(config.plugin_file);
    engine.directories_file = config.plugin_file;
    engine.directories.push_back(read_base_spec(*sysroot, runtime.base_spec));
    const ContainerdRuntime other = config.default_runtime();
    for (const FileInEffect &each : files_in_effect(engine.directories))
        if (each.file->ours != nullptr && each.file->ours->gives_gpus)
            add(engine.findings, check_annotations(runtime, *each.file));
    add(engine.findings, check_cgroups(runtime, other));
    add(engine.findings, check_default(runtime, other));
    return calls_hooks(engine) ? std::optional(std::move(engine)) : std::nullopt;
}

/** Its runtimes whose base spec calls hooks of this collection. */
std::vector<Engine> find_containerd(const EngineKind &kind, const std::shared_ptr<const Sysroot> &sysroot)
{
    std::vector<Engine> engines;
    if (!kind.is_installed(*sysroot))
        return engines;
    try {
        const ContainerdConfig config = read_containerd(*sysroot);
        for (const ContainerdRuntime &runtime : config.runtimes())
            if (auto engine = read_runtime(kind, sysroot, config, runtime))
                engines.push_back(std::move(*engine));
    } catch (const Error &error) {
        engines.push_back(kind.new_engine(sysroot));
        engines.back().directories_from = "its configuration cannot be read";
        engines.back().is_stopped = true;
        engines.back().findings.push_back({Severity::Error, error.what(), "fix the file"});
    }
    return engines;
}

} // namespace

std::string path_of_import(const std::string &parent, const std::string &import)
{
    return without_dots(import.starts_with('/') ? import : path_in(directory_of(parent), import));
}

const char *containerd_plugin(std::int64_t version)
{
    if (version <= 1)
        return "cri";
    return version < first_that_merges ? "io.containerd.grpc.v1.cri" : "io.containerd.cri.v1.runtime";
}

std::vector<ContainerdRuntime> ContainerdConfig::runtimes() const
{
    std::vector<ContainerdRuntime> found;
    const json *const tables = find_in(plugin, {"containerd", "runtimes"});
    if (tables != nullptr && tables->is_object())
        for (const auto &[name, table] : tables->items())
            found.push_back(runtime_of(name, table));
    return found;
}

ContainerdRuntime ContainerdConfig::default_runtime() const
{
    ContainerdRuntime found;
    found.name = text_in(plugin, {"containerd", "default_runtime_name"});
    if (found.name.empty())
        found.name = built_in_runtime;
    const json *const table = find_in(plugin, {"containerd", "runtimes", found.name});
    return table == nullptr ? found : runtime_of(found.name, *table);
}

ContainerdConfig read_containerd(const Sysroot &sysroot, const std::optional<std::string> &main_text)
{
    return Reader(sysroot).read(main_text);
}

/** Of its plugin for CRI, whose name is another one since 2.0. */
const EngineKind &containerd_kind()
{
    static const EngineKind kind{
        .name = "containerd",
        .program = "containerd",
        .way = EngineKind::Way::Cdi,
        .install_options = {"--runtime", "--base-spec"},
        .configuration_files = {containerd_main_file},
        .cdi = CdiSwitch{"enable_cdi=true", "enable_cdi=false",
                         "have enable_cdi = true in /etc/containerd/config.toml, below the CRI plugin"},
        .pod_key = "io.kubernetes.cri.sandbox-namespace",
        .how_to_ask = "whoever may name a device asks by DEVICE, with CRI as the value of an annotation "
                      "cdi.k8s.io/NAME",
        .left_to_do =
            {"containerd reads /etc/cdi for containers of CRI; before 2.0 only with enable_cdi = true "
             "below [plugins.\"io.containerd.grpc.v1.cri\"] of its config.toml"},
        .find = find_containerd,
    };
    return kind;
}

} // namespace ogh::admin
