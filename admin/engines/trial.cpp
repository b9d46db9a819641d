// SPDX-License-Identifier: Apache-2.0
#include "engines/trial.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "base/unique_fd.h"
#include "engines/own_hooks.h"
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
    std::vector<std::string> words{
        engine.name, "--root",        folder + "/root",   "--runroot", folder + "/run",
        "--tmpdir",  folder + "/tmp", "--storage-driver", "vfs",       "--events-backend",
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
    ProgramOutput output = run_program(engine.program, podman(engine, folder, words), start_limit);
    run_program(engine.program, podman(engine, folder, {"rm", "--all", "--force", "--time", "0"}),
                start_limit);
    return output;
}

json hook_entries(const std::vector<InstalledHook> &hooks)
{
    json entries = json::array();
    for (const InstalledHook &hook : hooks) {
        std::vector<std::string> args = hook.options;
        args.insert(args.begin(), std::string(hook.hook->name));
        entries.push_back({{"path", open_own_hook(*hook.hook).path},
                           {"args", args},
                           {"env", {"PATH=/usr/sbin:/usr/bin:/sbin:/bin"}}});
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
    const std::vector<std::string> base{engine.name, "--root", folder + "/state"};
    std::vector<std::string> words = base;
    words.insert(words.end(), {"run", "--bundle", folder, id});
    ProgramOutput output = run_program(engine.program, words, start_limit);
    words = base;
    words.insert(words.end(), {"delete", "--force", id});
    run_program(engine.program, words, start_limit); // one that has ended is none: whatever it says
    return output;
}

std::string opens(const std::string &path)
{
    const UniqueFd fd(::open(path.c_str(), O_RDWR | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
    return fd.valid() ? "can be opened" : std::string("cannot be opened: ") + std::strerror(errno);
}

struct Place {
    const char *folder;
    const char *prefix; ///< of the names
};

constexpr std::array places{Place{"/dev", "nvidia"},       Place{"/dev", "kfd"},
                            Place{"/dev/nvidia-caps", ""}, Place{"/dev/dri", "card"},
                            Place{"/dev/dri", "render"},   Place{"/dev/accel", "accel"}};

/** Nodes of GPUs, and of what goes with them. */
std::vector<std::string> gpu_nodes(const Sysroot &root)
{
    constexpr size_t max_nodes = 4096;
    std::vector<std::string> nodes;
    for (const Place &place : places) {
        const auto folder = root.find(place.folder);
        if (!folder)
            continue;
        const auto is_wanted = [&](std::string_view name) { return name.starts_with(place.prefix); };
        for (const FolderEntry &entry : list_folder(
                 folder->fd.get(), {quote(place.folder), is_wanted, max_nodes, ErrorKind::BrokenHost})) {
            struct stat status {};
            if (::fstatat(folder->fd.get(), entry.name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0 &&
                S_ISCHR(status.st_mode))
                nodes.push_back(std::string(place.folder) + "/" + entry.name);
        }
    }
    return nodes;
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
        for (const FolderEntry &entry :
             list_folder(srv->fd.get(), {"/srv", is_name, 0, ErrorKind::BrokenHost}))
            text += "/srv/" + printable(entry.name) + "\n";
    for (const std::string &node : gpu_nodes(root))
        text += printable(node) + " " + opens(node) + "\n";
    return text;
}

} // namespace ogh::admin
