// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdlib>

#include "base/contains.h"
#include "base/error.h"
#include "base/text.h"
#include "commands/command.h"
#include "engines/engine.h"
#include "install/kept_files.h"
#include "install/root_files.h"

namespace ogh::admin {

namespace {

/** What becomes of what was installed. */
struct Removal {
    std::vector<InstalledFile> gone; ///< what is removed, in this order
    std::vector<std::string> kept;   ///< a sentence for each file that stays although it was to go
    std::vector<std::string> needed; ///< and for each that stays as it should
    Manifest left;                   ///< what stays known
};

/** @param engine that it was written for; nothing: every engine. @return whether others have a use for it */
bool take_engine(InstalledFile &file, const std::optional<std::string> &engine)
{
    if (engine)
        std::erase(file.engines, *engine);
    else
        file.engines.clear();
    return !file.engines.empty();
}

Removal plan_removal(const Manifest &manifest, const std::optional<std::string> &engine,
                     const Sysroot &sysroot, const RootFiles &root)
{
    Removal removal;
    std::vector<InstalledFile> files = manifest.files;
    sort_for_removal(files);
    for (const InstalledFile &file : files) {
        InstalledFile left = file;
        if (take_engine(left, engine)) {
            removal.left.files.push_back(std::move(left));
            continue;
        }
        const PresentFile present = look_at(root, file);
        if (!present.exists)
            continue;
        if (are_needed_defaults(file, sysroot, removal.gone)) {
            removal.needed.push_back(shown(file) +
                                     " stays: without it images could ask for what the hooks give");
            removal.left.files.push_back(file);
            continue;
        }
        const std::string why = is_as_written(file, present) ? why_drop_in_stays(file, sysroot, removal.gone)
                                                             : "was changed by somebody, and stays";
        if (!why.empty()) {
            removal.kept.push_back(shown(file) + " " + why);
            removal.left.files.push_back(file);
        } else {
            removal.gone.push_back(file);
        }
    }
    return removal;
}

/** What the engines do afterwards: hooks may still be called, by the files that came with them. */
void say_what_is_called(const std::vector<Engine> &engines)
{
    for (const Engine &engine : engines)
        for (const FileInEffect &each : files_in_effect(engine.directories))
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
    for (const std::string &line : removal.needed)
        print(line + "\n");
    const KeptFiles kept = engine ? KeptFiles() : remove_kept(root, dry_run);
    for (const std::string &line : kept.said)
        print(line + "\n");
    if (!dry_run) {
        store(root, removal.left);
        root.keep();
        kept.remove_empty_directories(root);
    }
    if (!dry_run)
        say_what_is_called(find_engines(sysroot));
    if (!removal.gone.empty())
        print("containers that run keep what they have; 'oci-gpu-hooks list' shows who has which GPU\n");
    if (removal.gone.empty() && removal.kept.empty() && removal.needed.empty() && kept.paths.empty())
        print("nothing to do: no file was written for this\n");
    refuse(removal.kept);
    return EXIT_SUCCESS;
}

int keep_for_later(const std::shared_ptr<const Sysroot> &sysroot, bool dry_run)
{
    RootFiles root = RootFiles::of_host(*sysroot);
    if (!dry_run)
        root.lock();
    const std::vector<std::string> said = take_out_of_effect(sysroot, root, dry_run);
    root.keep();
    for (const std::string &line : said)
        print(line + "\n");
    if (said.empty())
        print("nothing to do: nothing calls the hooks\n");
    return EXIT_SUCCESS;
}

} // namespace

int uninstall(CommandLine &cli, Invocation &call)
{
    std::optional<std::string> engine;
    bool dry_run = false;
    const std::vector<std::string> names = engine_names();
    bool keep = false;
    cli.add_flag(
        "--keep",
        "Move all that calls the hooks out of effect instead, as a package that is removed does; 'install "
        "--kept' puts it back",
        keep);
    cli.add_choice({"--engine", "NAME", "What was written for this one alone (default: for each)"},
                   {names.begin(), names.end()}, [&](const std::string &name) { engine = name; });
    cli.add_flag("--dry-run", "Say what would be removed, and change nothing", dry_run);
    if (!call.parse())
        return EXIT_SUCCESS;
    if (keep && engine)
        throw Error(ErrorKind::Usage, "--keep is for all engines, and goes with no --engine");
    const auto sysroot = call.open();
    say_what_is_unread(find_engines(sysroot));
    if (keep)
        return keep_for_later(sysroot, dry_run);
    return remove_for(sysroot, engine, dry_run);
}

} // namespace ogh::admin
