// SPDX-License-Identifier: Apache-2.0
#include "engines/installed_hooks.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "admin_config.h"
#include "base/error.h"
#include "base/file.h"
#include "base/path_names.h"
#include "base/text.h"

namespace ogh::admin {

namespace {

/** More than a hook takes for itself, see "Time limit" in oci-gpu-hooks(7). */
constexpr std::chrono::seconds run_limit{30};

constexpr const char *own_executable = "/proc/self/exe";

bool is_installed()
{
    struct stat self {};
    struct stat installed {};
    return ::stat(own_executable, &self) == 0 && ::stat(OGH_COMMAND, &installed) == 0 &&
           self.st_dev == installed.st_dev && self.st_ino == installed.st_ino;
}

/** In a directory that meson has built in, each executable lies in one of its own. */
std::string path_of_own(const OurHook &hook)
{
    if (is_installed())
        return std::string(hook.executable);
    const std::string self = read_link(AT_FDCWD, own_executable, quote(own_executable));
    const std::string name(hook.name);
    return directory_of(directory_of(self)) + "/hooks/" + name + "/" + name;
}

/**
 * The executable of a hook that belongs to this command: where the package was installed, or, if this command is run from
 * the directory that it was built in, in that directory. No hook of another place is ever run, whatever files name it.
 * @throws Error (BrokenHost) if it is not there, or others than root and the user of this process may change it
 */
Program open_own_hook(const OurHook &hook)
{
    const std::string path = path_of_own(hook);
    auto program = open_program(path, ::geteuid());
    if (!program)
        throw Error(ErrorKind::BrokenHost, "there is no " + quote(path) +
                                               ", which belongs to this command: install the hooks again");
    return std::move(*program);
}

/** Whether the file calls the hook that is installed, by this name or another one. */
bool calls_installed(const Sysroot &sysroot, const HookFile &file)
{
    try {
        const auto called = sysroot.find(file.executable);
        const auto installed = sysroot.find(file.ours->executable);
        return called && installed && called->path == installed->path;
    } catch (const Error &) {
        return false; // the doctor says why
    }
}

void add_call(const Sysroot &sysroot, std::vector<InstalledHook> &hooks, const HookFile &file,
              const std::string &engine)
{
    if (file.ours == nullptr || !file.problem.empty() || !calls_installed(sysroot, file))
        return;
    const FileOptions options = options_of(file);
    const auto same = std::find_if(hooks.begin(), hooks.end(), [&](const InstalledHook &other) {
        return other.hook == file.ours && other.options == options.policy && other.others == options.others;
    });
    if (same == hooks.end())
        hooks.push_back({file.ours, options.policy, {engine}, options.others});
    else if (same->engines.back() != engine)
        same->engines.push_back(engine);
}

} // namespace

std::vector<InstalledHook> installed_hooks(const Sysroot &sysroot, const std::vector<Engine> &engines)
{
    std::vector<InstalledHook> hooks;
    for (const Engine &engine : engines) {
        if (has_own_root(engine))
            continue; // it is said for this host
        for (const FileInEffect &each : files_in_effect(engine.directories))
            add_call(sysroot, hooks, *each.file, engine.title);
    }
    for (const OurHook &hook : our_hooks()) {
        const bool is_called = std::any_of(hooks.begin(), hooks.end(),
                                           [&](const InstalledHook &other) { return other.hook == &hook; });
        if (!is_called && sysroot.find(hook.executable))
            hooks.push_back({&hook, {}, {}});
    }
    std::stable_sort(hooks.begin(), hooks.end(), [](const InstalledHook &one, const InstalledHook &other) {
        return one.hook < other.hook;
    });
    return hooks;
}

HookFile hook_file(const InstalledHook &hook)
{
    HookFile file;
    file.path = file.executable = hook.hook->executable;
    file.args = hook.options;
    file.args.insert(file.args.begin(), std::string(hook.hook->name));
    file.ours = hook.hook;
    return file;
}

std::string title_of(const InstalledHook &hook)
{
    std::string text(hook.hook->name);
    if (hook.engines.empty())
        return text + ", which no engine calls";
    for (size_t i = 0; i < hook.engines.size(); ++i)
        text += (i == 0 ? ", as " : i + 1 < hook.engines.size() ? ", " : " and ") + hook.engines[i];
    return text + (hook.engines.size() == 1 ? " calls it" : " call it");
}

ProgramOutput run_hook(const Sysroot &sysroot, const InstalledHook &hook,
                       const std::vector<std::string> &options)
{
    std::vector<std::string> words{std::string(hook.hook->name)};
    words.insert(words.end(), hook.options.begin(), hook.options.end());
    if (!is_this_host(sysroot))
        words.insert(words.end(), {"--sysroot", sysroot.on_host("/")});
    words.insert(words.end(), options.begin(), options.end());
    return run_program(open_own_hook(*hook.hook), words, run_limit);
}

std::string message_of(const InstalledHook &hook, const ProgramOutput &output)
{
    const std::string text = last_line(output.err);
    const std::string prefix = std::string(hook.hook->name) + ": ";
    return text.starts_with(prefix) ? text.substr(prefix.size()) : text;
}

} // namespace ogh::admin
