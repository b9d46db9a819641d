// SPDX-License-Identifier: Apache-2.0
#include "engines/trial.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "base/unique_fd.h"
#include "engines/container_devices.h"
#include "engines/trial_folder.h"
#include "kernel/folder_entries.h"

namespace ogh::admin {

namespace {

using nlohmann::json;
using Annotations = std::map<std::string, std::string>;

constexpr std::chrono::seconds start_limit{90};
constexpr const char *probe_option = "--probe";

std::vector<std::string> podman(const TrialEngine &engine, const std::string &folder,
                                const std::vector<std::string> &more)
{
    std::vector<std::string> words{engine.executable,
                                   "--root",
                                   folder + "/root",
                                   "--runroot",
                                   folder + "/run",
                                   "--tmpdir",
                                   folder + "/tmp",
                                   "--storage-driver",
                                   "vfs",
                                   "--events-backend",
                                   "file"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
}

ProgramOutput run_podman(const TrialEngine &engine, const std::string &folder, const Annotations &annotations)
{
    std::vector<std::string> words{"run", "--rm", "--network", "none", "--log-driver", "none"};
    for (const auto &[key, value] : annotations)
        words.insert(words.end(), {"--annotation", std::string(key).append("=").append(value)});
    words.insert(words.end(), {"--rootfs", folder + "/rootfs", "/probe", probe_option});
    ProgramOutput output = run_program(podman(engine, folder, words), start_limit);
    run_program(podman(engine, folder, {"rm", "--all", "--force", "--time", "0"}), start_limit);
    return output;
}

json hook_entries(const std::vector<InstalledHook> &hooks)
{
    json entries = json::array();
    for (const InstalledHook &hook : hooks) {
        std::vector<std::string> args = hook.options;
        args.insert(args.begin(), std::string(hook.hook->name));
        entries.push_back(
            {{"path", hook.executable}, {"args", args}, {"env", {"PATH=/usr/sbin:/usr/bin:/sbin:/bin"}}});
    }
    return entries;
}

/** The least that a runtime takes. */
json config(const TrialEngine &engine, const std::string &folder, const Annotations &annotations)
{
    json namespaces = json::array();
    for (const char *const type : {"pid", "ipc", "uts", "mount", "network"})
        namespaces.push_back({{"type", type}});
    const json mounts = {
        {{"destination", "/proc"}, {"type", "proc"}, {"source", "proc"}},
        {{"destination", "/dev"},
         {"type", "tmpfs"},
         {"source", "tmpfs"},
         {"options", {"nosuid", "mode=755"}}},
        {{"destination", "/sys"},
         {"type", "sysfs"},
         {"source", "sysfs"},
         {"options", {"nosuid", "noexec", "nodev", "ro"}}},
    };
    return {{"ociVersion", "1.0.2"},
            {"process",
             {{"terminal", false},
              {"user", {{"uid", 0}, {"gid", 0}}},
              {"args", {"/probe", probe_option}},
              {"env", json::array({"PATH=/"})},
              {"cwd", "/"},
              {"noNewPrivileges", true}}},
            {"root", {{"path", folder + "/rootfs"}, {"readonly", false}}},
            {"hostname", "trial"},
            {"mounts", mounts},
            {"annotations", annotations},
            {"hooks", {{"createRuntime", hook_entries(engine.hooks)}}},
            {"linux",
             {{"namespaces", namespaces},
              {"resources", {{"devices", {{{"allow", false}, {"access", "rwm"}}}}}}}}};
}

ProgramOutput run_runtime(const TrialEngine &engine, const std::string &folder,
                          const Annotations &annotations)
{
    const std::string path = folder + "/config.json";
    const UniqueFd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    if (!file.valid())
        throw SystemError(errno, "cannot make " + quote(path));
    write_all(file.get(), config(engine, folder, annotations).dump(), path);
    const std::string id = "oci-gpu-hooks-try-" + std::to_string(::getpid());
    const std::vector<std::string> base{engine.executable, "--root", folder + "/state"};
    std::vector<std::string> words = base;
    words.insert(words.end(), {"run", "--bundle", folder, id});
    ProgramOutput output = run_program(words, start_limit);
    words = base;
    words.insert(words.end(), {"delete", "--force", id});
    run_program(words, start_limit); // one that has ended is none: whatever it says
    return output;
}

std::string opens(const std::string &path)
{
    const UniqueFd fd(::open(path.c_str(), O_RDWR | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
    return fd.valid() ? "can be opened" : std::string("cannot be opened: ") + std::strerror(errno);
}

} // namespace

ProgramOutput start_trial(const TrialEngine &engine, const Annotations &annotations)
{
    const TrialFolder folder;
    return engine.name == "podman" ? run_podman(engine, folder.path(), annotations)
                                   : run_runtime(engine, folder.path(), annotations);
}

std::string probe()
{
    const Sysroot root("/");
    std::string text;
    const auto is_name = [](std::string_view name) { return !name.starts_with('.'); };
    if (const auto srv = root.find("/srv"))
        for (const FolderEntry &entry : list_folder(srv->fd.get(), {"/srv", is_name, 0, ExitCode::Host}))
            text += "/srv/" + printable(entry.name) + "\n";
    for (const ContainerNode &node : gpu_nodes(root))
        text += printable(node.path) + " " + opens(node.path) + "\n";
    return text;
}

} // namespace ogh::admin
