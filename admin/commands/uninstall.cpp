// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdlib>
#include <set>

#include <nlohmann/json.hpp>

#include "base/contains.h"
#include "base/error.h"
#include "base/text.h"
#include "commands/command.h"
#include "engines/engine.h"
#include "engines/installed_hooks.h"
#include "install/root_files.h"
#include "install/written_file.h"

namespace ogh::admin {

namespace {

using nlohmann::json;

/** What becomes of what was installed. */
struct Removal {
    std::vector<InstalledFile> gone; ///< what is removed, in this order
    std::vector<std::string> kept;   ///< a sentence for each file that stays although it was to go
    Manifest left;                   ///< what stays known
};

bool is_drop_in(const InstalledFile &file)
{
    return file.path.ends_with(".conf");
}

/** A runtime of containerd's, which does not start where the spec of one is missing. */
bool is_runtime(const InstalledFile &file)
{
    return file.path.ends_with(".toml");
}

std::string shown(const InstalledFile &file)
{
    return (file.part.empty() ? "" : "the runtime " + quote(file.part) + " from ") + quote(file.path);
}

/** Files of hooks that are in force by hooks_dir alone, and stay. */
std::vector<std::string> others_in_own_folder(const Sysroot &sysroot, const std::vector<InstalledFile> &gone)
{
    std::vector<std::string> others;
    for (const HookFile &file :
         read_hook_folder(sysroot, std::string(own_hooks_folder), FolderRules::HooksD).files)
        if (std::none_of(gone.begin(), gone.end(),
                         [&](const InstalledFile &other) { return other.path == file.path; }))
            others.push_back(file.path);
    return others;
}

/** @param engine that it was written for; nothing: every engine. @return whether others have a use for it */
bool take_engine(InstalledFile &file, const std::optional<std::string> &engine)
{
    if (engine)
        std::erase(file.engines, *engine);
    else
        file.engines.clear();
    return !file.engines.empty();
}

/** @return why it stays; "" if it goes */
std::string why_it_stays(const InstalledFile &file, const PresentFile &present, const Sysroot &sysroot,
                         const std::vector<InstalledFile> &gone)
{
    if (!is_as_written(file, present))
        return "was changed by somebody, and stays";
    if (!is_drop_in(file) || file.path == default_annotations_file)
        return "";
    const auto others = others_in_own_folder(sysroot, gone);
    return others.empty() ? "" : "stays: without it " + quote_list(others) + " would not be in effect";
}

/**
 * The files of hooks come first: once hooks_dir is not there, a file with a policy would not count and an installed one
 * without it would. Before them come runtimes.
 */
Removal plan_removal(const Manifest &manifest, const std::optional<std::string> &engine,
                     const Sysroot &sysroot, const RootFiles &root)
{
    Removal removal;
    std::vector<InstalledFile> files = manifest.files;
    std::stable_partition(files.begin(), files.end(),
                          [](const InstalledFile &file) { return !is_drop_in(file); });
    std::stable_partition(files.begin(), files.end(), is_runtime);
    for (const InstalledFile &file : files) {
        InstalledFile left = file;
        if (take_engine(left, engine)) {
            removal.left.files.push_back(std::move(left));
            continue;
        }
        const PresentFile present = look_at(root, file);
        if (!present.exists)
            continue;
        if (const std::string why = why_it_stays(file, present, sysroot, removal.gone); !why.empty()) {
            removal.kept.push_back(shown(file) + " " + why);
            removal.left.files.push_back(file);
        } else {
            removal.gone.push_back(file);
        }
    }
    return removal;
}

/** A name, or what stands for one that is not known. */
std::string known_text(const json &lease, const char *name)
{
    const auto found = lease.find(name);
    return found != lease.end() && found->is_string() ? quote(found->get<std::string>())
                                                      : "that is not known";
}

/** @param text "leases" of --list --format json, see oci-gpu-hooks-leases(7) */
void add_leases(const std::string &text, const std::string &hook, std::set<std::string> &lines)
{
    const json listing = json::parse(text, nullptr, false);
    if (!listing.is_object() || !listing.contains("leases"))
        throw Error(ErrorKind::BrokenHost, "its list is no JSON with leases");
    for (const json &lease : listing.at("leases"))
        if (lease.is_object())
            lines.insert("container " + known_text(lease, "container") + " has GPU " +
                         known_text(lease, "gpus") + " by " + hook + ", until it ends");
}

/** "container '3f2a…' has GPU 0 by nvidia-devices", for each container that has leases; by each installed hook. */
std::set<std::string> containers_with_gpus(const std::shared_ptr<const Sysroot> &sysroot,
                                           const std::vector<Engine> &engines)
{
    std::set<std::string> lines;
    for (const InstalledHook &hook : installed_hooks(*sysroot, engines)) {
        if (!hook.hook->gives_gpus)
            continue;
        try {
            // Without a GPU there is no list.
            if (const ProgramOutput output = run_hook(*sysroot, hook, {"--list", "--format", "json"});
                output.exit_status == 0)
                add_leases(output.out, std::string(hook.hook->name), lines);
        } catch (const Error &error) {
            lines.insert("who has GPUs by " + std::string(hook.hook->name) +
                         " is not known: " + error.what());
        }
    }
    return lines;
}

/** What the engines do afterwards: hooks may still be called, by the files that came with them. */
void say_what_is_called(const std::vector<Engine> &engines)
{
    for (const Engine &engine : engines)
        for (const FileInForce &each : files_in_force(engine.folders))
            if (each.file->ours != nullptr)
                print(engine.title + " calls " + std::string(each.file->ours->name) + " by " +
                      quote(each.file->path) + "\n");
}

int remove_for(const std::shared_ptr<const Sysroot> &sysroot, const std::optional<std::string> &engine,
               bool dry_run)
{
    RootFiles root = RootFiles::of_host(*sysroot);
    if (!dry_run)
        root.lock();
    const Removal removal = plan_removal(Manifest::read(*sysroot), engine, *sysroot, root);
    for (const InstalledFile &file : removal.gone) {
        if (!dry_run)
            remove_written(root, file);
        print((dry_run ? "would remove " : "removed ") + shown(file) + "\n");
    }
    if (std::any_of(removal.gone.begin(), removal.gone.end(), is_runtime))
        print("containerd starts pods as before until it is started again: systemctl restart containerd\n");
    if (!dry_run) {
        store(root, removal.left);
        root.keep();
    }
    const std::vector<Engine> engines = find_engines(sysroot);
    if (!dry_run)
        say_what_is_called(engines);
    for (const std::string &line : containers_with_gpus(sysroot, engines))
        print(line + "\n");
    if (removal.gone.empty() && removal.kept.empty())
        print("nothing to do: no file was written for this\n");
    refuse(removal.kept);
    return EXIT_SUCCESS;
}

} // namespace

int uninstall(int argc, const char *const *argv)
{
    CommandOptions options;
    std::optional<std::string> engine;
    bool dry_run = false;
    const std::vector<std::string> names = engine_names();
    CommandLine cli("oci-gpu-hooks uninstall", "Removes what 'install' has written.", page);
    cli.add_choice({"--engine", "NAME", "What was written for this one alone (default: for each)"},
                   {names.begin(), names.end()}, [&](const std::string &name) { engine = name; });
    cli.add_flag("--dry-run", "Say what would be removed, and change nothing", dry_run);
    if (!parse(cli, options, argc, argv))
        return EXIT_SUCCESS;
    const auto sysroot = options.open();
    say_what_is_unread(find_engines(sysroot));
    return remove_for(sysroot, engine, dry_run);
}

} // namespace ogh::admin
