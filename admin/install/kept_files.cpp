// SPDX-License-Identifier: Apache-2.0
#include "install/kept_files.h"

#include <algorithm>

#include "base/contains.h"
#include "base/path_names.h"
#include "base/sha256.h"
#include "base/text.h"
#include "doctor/checks.h"
#include "engines/engine.h"
#include "registration/hook_file.h"

namespace ogh::admin {

namespace {

/** A file that says which directories an engine reads. */
bool is_drop_in(const InstalledFile &file)
{
    return file.path.ends_with(".conf");
}

/** Files of hooks that are none of those, and stay. */
std::vector<HookFile> others_in(std::string_view directory, const Sysroot &sysroot,
                                const std::vector<InstalledFile> &gone)
{
    std::vector<HookFile> others =
        read_hook_directory(sysroot, std::string(directory), DirectoryRules::HooksD).files;
    std::erase_if(others, [&](const HookFile &file) {
        return std::any_of(gone.begin(), gone.end(),
                           [&](const InstalledFile &other) { return other.path == file.path; });
    });
    return others;
}

const std::string list_path = std::string(kept_directory) + "/list.json";

Manifest read_list(const RootFiles &root)
{
    const PresentFile present = root.look(list_path);
    return present.is_plain ? Manifest::parse(present.text, list_path) : Manifest();
}

/** Of what `install` has written and of what somebody else has, each once. */
std::vector<InstalledFile> registrations(const std::shared_ptr<const Sysroot> &sysroot)
{
    Manifest list = Manifest::read(*sysroot);
    const auto add = [&](const std::string &path, std::vector<std::string> engines) {
        if (list.find(path) == nullptr)
            list.files.push_back({path, "", std::move(engines), "", {}});
    };
    const auto add_files = [&](const HookDirectory &directory, const std::vector<std::string> &engines) {
        for (const HookFile &file : directory.files)
            if (file.ours != nullptr)
                add(file.path, engines);
    };
    for (const Engine &engine : find_engines(sysroot))
        if (!has_own_root(engine) && engine.kind->way != EngineKind::Way::Cdi)
            for (const HookDirectory &directory : engine.directories)
                add_files(directory, {engine.kind->name});
    for (const std::string_view path : {default_hooks_directory, own_hooks_directory})
        add_files(read_hook_directory(*sysroot, std::string(path), DirectoryRules::HooksD), {});
    for (const std::string &path : specs_that_call_hooks(*sysroot))
        add(path, {});
    sort_for_removal(list.files);
    return std::move(list.files);
}

void say_what_follows(const std::vector<InstalledFile> &moved, std::vector<std::string> &said)
{
    if (moved.empty())
        return;
    said.emplace_back(
        "a container that asks by an annotation gets nothing from now on, and nobody is told; a device "
        "of CDI by these hooks and docker's --gpus are refused by the engine");
    if (std::any_of(moved.begin(), moved.end(),
                    [](const InstalledFile &file) { return contains(file.engines, "concourse"); }))
        said.emplace_back(
            "a worker of Concourse that runs calls the hooks until it is started again, and creates no "
            "container once they are gone: systemctl restart concourse-worker");
    if (std::any_of(moved.begin(), moved.end(), is_runtime))
        said.emplace_back(
            "containerd starts pods as before until it is started again, and none with this runtime "
            "once the hooks are gone: systemctl restart containerd");
}

/** What is there of it, with the hash of what it says now. */
std::vector<InstalledFile> find_movable(const Sysroot &sysroot, const RootFiles &root,
                                        const std::vector<InstalledFile> &files,
                                        std::vector<std::string> &said)
{
    std::vector<InstalledFile> found;
    for (InstalledFile file : files) {
        const PresentFile present = look_at(root, file);
        if (!present.exists)
            continue;
        const std::string why = present.is_plain ? why_drop_in_stays(file, sysroot, found)
                                                 : "is no plain file, and stays: remove it";
        if (!why.empty()) {
            said.push_back(shown(file) + " " + why);
            continue;
        }
        file.hash = sha256_of(present.text);
        found.push_back(std::move(file));
    }
    return found;
}

/** @return why it stays where it is kept; "" if it was put back, or is in its place already */
std::string put_one_back(RootFiles &root, const InstalledFile &file, const PresentFile &kept)
{
    const PresentFile present = look_at(root, file);
    // The package has its own files of hooks there by now, of whatever version.
    const bool is_packages = directory_of(file.path) == default_hooks_directory;
    if (present.exists)
        return present.text == kept.text || is_packages ? "" : shown(file) + " is there again";
    if (file.part.empty())
        // An engine may read each file of the directory, so that it lies in the one above until it is whole.
        root.write(file.path, kept.text, kept.mode, directory_of(directory_of(file.path)));
    else if (root.look(file.path).is_plain)
        write_part(root, file, kept.text);
    else
        return "there is no " + quote(file.path);
    return "";
}

} // namespace

bool is_runtime(const InstalledFile &file)
{
    return file.path.ends_with(".toml");
}

void sort_for_removal(std::vector<InstalledFile> &files)
{
    const auto place = [](const InstalledFile &file) {
        if (is_runtime(file))
            return 0;
        if (directory_of(file.path) == default_hooks_directory)
            return 1;
        return is_drop_in(file) ? 3 : 2;
    };
    std::stable_sort(files.begin(), files.end(), [&](const InstalledFile &one, const InstalledFile &other) {
        return place(one) < place(other);
    });
}

std::string why_drop_in_stays(const InstalledFile &file, const Sysroot &sysroot,
                              const std::vector<InstalledFile> &gone)
{
    if (!is_drop_in(file) || file.path == default_annotations_file)
        return "";
    std::vector<std::string> others;
    for (const HookFile &other : others_in(own_hooks_directory, sysroot, gone))
        others.push_back(other.path);
    return others.empty() ? "" : "stays: without it " + quote_list(others) + " would not be in effect";
}

bool are_needed_defaults(const InstalledFile &file, const Sysroot &sysroot,
                         const std::vector<InstalledFile> &gone)
{
    const auto calls_a_hook = [&](std::string_view directory) {
        const std::vector<HookFile> others = others_in(directory, sysroot, gone);
        return std::any_of(others.begin(), others.end(),
                           [](const HookFile &other) { return other.ours != nullptr; });
    };
    return file.path == default_annotations_file &&
           (calls_a_hook(default_hooks_directory) || calls_a_hook(own_hooks_directory));
}

std::string shown(const InstalledFile &file)
{
    return (file.part.empty() ? "" : "the runtime " + quote(file.part) + " from ") + quote(file.path);
}

std::vector<std::string> take_out_of_effect(const std::shared_ptr<const Sysroot> &sysroot, RootFiles &root,
                                            bool dry_run)
{
    std::vector<std::string> said;
    const std::vector<InstalledFile> files = find_movable(*sysroot, root, registrations(sysroot), said);
    for (const InstalledFile &file : files)
        said.push_back(std::string(dry_run ? "would move " : "moved ") + shown(file) + " to " +
                       quote(kept_path(file)));
    if (dry_run || files.empty())
        return said;
    Manifest list = read_list(root);
    for (const InstalledFile &file : files)
        list.add(file);
    store(root, list, list_path); // before anything is there: whatever happens, what is kept is known
    for (const InstalledFile &file : files) {
        const PresentFile present = look_at(root, file);
        root.write(kept_path(file), present.text, present.mode);
    }
    for (const InstalledFile &file : files)
        remove_written(root, file);
    say_what_follows(files, said);
    return said;
}

void KeptFiles::remove_empty_directories(const RootFiles &root) const
{
    for (const std::string &path : paths)
        root.remove_empty_directories(path, kept_directory);
}

KeptFiles put_back(RootFiles &root)
{
    KeptFiles result;
    Manifest left;
    const Manifest list = read_list(root);
    for (auto file = list.files.rbegin(); file != list.files.rend(); ++file) {
        const std::string path = kept_path(*file);
        result.paths.push_back(path);
        const PresentFile kept = root.look(path);
        if (!kept.is_plain)
            continue; // somebody has removed it
        const bool was_there = look_at(root, *file).exists;
        const std::string why =
            is_as_written(*file, kept) ? put_one_back(root, *file, kept) : quote(path) + " was changed";
        if (!why.empty()) {
            result.said.push_back(why + ": what was kept is not in effect, and stays in " + quote(path));
            left.files.insert(left.files.begin(), *file);
            continue;
        }
        root.remove(path);
        if (!was_there)
            result.said.push_back("put back " + shown(*file));
    }
    if (!list.files.empty())
        store(root, left, list_path);
    return result;
}

KeptFiles remove_kept(RootFiles &root, bool dry_run)
{
    KeptFiles result;
    const Manifest list = read_list(root);
    for (const InstalledFile &file : list.files) {
        result.paths.push_back(kept_path(file));
        result.said.push_back((dry_run ? "would remove " : "removed ") + quote(result.paths.back()));
        if (!dry_run)
            root.remove(result.paths.back());
    }
    if (!dry_run && !list.files.empty())
        store(root, {}, list_path);
    return result;
}

} // namespace ogh::admin
