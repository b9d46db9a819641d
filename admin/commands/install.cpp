// SPDX-License-Identifier: Apache-2.0
#include "commands/install.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string_view>

#include "base/error.h"
#include "base/text.h"
#include "commands/command.h"
#include "engines/engine.h"
#include "install/cdi_plan.h"
#include "install/changes.h"
#include "install/concourse_plan.h"
#include "install/hooks_d_plan.h"
#include "install/removal.h"

namespace ogh::admin {

namespace {

constexpr std::array options_with_value = {"--engine", "--folder", "--sysroot"};

/** Where the hooks begin: from there on the command line is theirs. */
int first_hook(int argc, const char *const *argv)
{
    for (int i = 1; i < argc; ++i) {
        const std::string_view word = argv[i];
        if (!word.starts_with('-'))
            return i;
        if (std::find(options_with_value.begin(), options_with_value.end(), word) != options_with_value.end())
            ++i;
    }
    return argc;
}

std::vector<std::string> hook_names()
{
    std::vector<std::string> names;
    for (const OurHook &hook : our_hooks())
        names.emplace_back(hook.name);
    return names;
}

/** HOOK..., and then the options of each of these. */
void read_hooks(const std::vector<std::string> &words, InstallRequest &request)
{
    auto word = words.begin();
    for (; word != words.end() && !word->starts_with('-'); ++word) {
        const OurHook *const hook = find_hook(*word);
        if (hook == nullptr)
            throw Error(ErrorKind::Usage,
                        "there is no hook " + quote(*word) + "; there are " + quote_list(hook_names()));
        request.hooks.push_back(hook);
    }
    request.options.assign(word, words.end());
}

/** The engine of this host. @throws Error (BrokenHost) if there is none */
Engine find_one(const EngineKind &kind, const std::shared_ptr<const Sysroot> &sysroot)
{
    std::vector<Engine> engines = kind.find(sysroot);
    if (engines.empty())
        throw Error(ErrorKind::BrokenHost, "there is no " + kind.name() + " on this host");
    return std::move(engines.front());
}

InstallPlan plan_for(const InstallHost &host, const InstallRequest &request)
{
    const std::string name = "--engine " + request.kind->name();
    if (request.folder && request.kind->way() != EngineKind::Way::OneFolder)
        throw Error(ErrorKind::Usage, name + " takes no --folder");
    if (request.defaults_alone && !request.kind->image_annotations(*host.sysroot))
        throw Error(ErrorKind::Usage, name + " takes no --defaults");
    if (request.defaults_alone && !request.hooks.empty())
        throw Error(ErrorKind::Usage, "--defaults goes with no hook");
    switch (request.kind->way()) {
    case EngineKind::Way::HooksD:
        return plan_hooks_d(host, request, find_one(*request.kind, host.sysroot));
    case EngineKind::Way::OneFolder:
        return plan_one_folder(host, request);
    case EngineKind::Way::Cdi:
        break;
    }
    return plan_cdi(host, request);
}

void show(const std::vector<Change> &changes, bool dry_run)
{
    for (const Change &change : changes) {
        const std::string path = quote(change.planned.file.path);
        if (change.fate == Fate::Same)
            print(path + " is as it is to be\n");
        else if (change.fate == Fate::Write && dry_run)
            print(path + " would be written:\n" + change.planned.text);
        else if (change.fate == Fate::Write)
            print("wrote " + path + "\n");
    }
}

/** @throws Error (BrokenHost) if somebody's file is in the way */
void refuse_theirs(const std::vector<Change> &changes)
{
    std::vector<std::string> paths;
    for (const Change &change : changes)
        if (change.fate == Fate::Theirs)
            paths.push_back(change.planned.file.path);
    if (!paths.empty())
        throw Error(ErrorKind::BrokenHost,
                    quote_list(paths) +
                        ": not written by this command, or changed since; left as it is, and nothing "
                        "else is changed. What it would be is in the file of that name with .new");
}

int install_for(InstallHost host, const InstallRequest &request, bool dry_run)
{
    HostWriter writer(*host.sysroot);
    InstallPlan plan = plan_for(host, request);
    std::vector<Change> changes = changes_for(plan.files, host.manifest, writer);
    if (!dry_run && has_changes(changes, host.manifest)) {
        writer.lock();
        host.manifest = Manifest::read(*host.sysroot); // by whom had the lock until now
        plan = plan_for(host, request);
        changes = changes_for(plan.files, host.manifest, writer);
        const auto check = [&] {
            if (request.kind->way() == EngineKind::Way::HooksD)
                check_in_force(changes, find_one(*request.kind, host.sysroot));
        };
        carry_out(changes, host.manifest, writer, check);
    }
    show(changes, dry_run);
    refuse_theirs(changes);
    for (const std::string &line : plan.said)
        print(line + "\n");
    return EXIT_SUCCESS;
}

/** What the engines do afterwards: hooks may still be called, by the files that came with them. */
void say_what_is_called(const std::shared_ptr<const Sysroot> &sysroot)
{
    for (const Engine &engine : find_engines(sysroot))
        for (const FileInForce &each : files_in_force(engine.folders))
            if (each.file->ours != nullptr)
                print(engine.title + " calls " + std::string(each.file->ours->name) + " by " +
                      quote(each.file->path) + "\n");
}

int remove_for(const std::shared_ptr<const Sysroot> &sysroot, const std::optional<std::string> &engine,
               bool dry_run)
{
    HostWriter writer(*sysroot);
    if (!dry_run)
        writer.lock();
    const Manifest manifest = Manifest::read(*sysroot);
    const Removal removal = plan_removal(manifest, engine, sysroot, writer);
    for (const std::string &path : removal.gone) {
        if (!dry_run)
            writer.remove(path);
        print((dry_run ? "would remove " : "removed ") + quote(path) + "\n");
    }
    if (!dry_run) {
        store(removal.left, writer);
        writer.keep();
        say_what_is_called(sysroot);
    }
    for (const std::string &line : containers_with_gpus(sysroot))
        print(line + "\n");
    if (removal.gone.empty() && removal.kept.empty())
        print("nothing to do: no file was written for this\n");
    std::string kept;
    for (const std::string &sentence : removal.kept)
        kept += (kept.empty() ? "" : "; ") + sentence;
    if (!kept.empty())
        throw Error(ErrorKind::BrokenHost, kept);
    return EXIT_SUCCESS;
}

} // namespace

int install(int argc, const char *const *argv)
{
    CommandOptions options;
    InstallRequest request;
    bool dry_run = false;
    const std::string engines = "One of " + quote_list(engine_names());
    CommandLine cli(
        "oci-gpu-hooks install",
        "Has an engine call the hooks: all, or each HOOK that stands behind the options, with the options "
        "behind it.",
        page);
    cli.add_choice({"--engine", "NAME", engines.c_str()}, engine_names(),
                   [&](const std::string &name) { request.kind = find_engine_kind(name); });
    cli.add({"--folder", "DIR", "Of Concourse's worker (default: /etc/oci-gpu-hooks/concourse-hooks.d)"},
            request.folder);
    cli.add_flag("--defaults",
                 "Of podman: the default annotations alone, which before 4.6 keep images from asking",
                 request.defaults_alone);
    cli.add_flag("--dry-run", "Show each file and its text, and write nothing", dry_run);
    const int end = first_hook(argc, argv);
    if (!parse(cli, options, end, argv))
        return EXIT_SUCCESS;
    if (request.kind == nullptr)
        throw Error(ErrorKind::Usage, "which engine? --engine takes " + quote_list(engine_names()));
    read_hooks({argv + end, argv + argc}, request);
    const auto sysroot = options.open();
    say_what_is_unread(find_engines(sysroot));
    return install_for({sysroot, Manifest::read(*sysroot)}, request, dry_run);
}

int uninstall(int argc, const char *const *argv)
{
    CommandOptions options;
    std::optional<std::string> engine;
    bool dry_run = false;
    CommandLine cli("oci-gpu-hooks uninstall", "Removes what 'install' has written.", page);
    cli.add_choice({"--engine", "NAME", "What was written for this one alone (default: for each)"},
                   engine_names(), [&](const std::string &name) { engine = name; });
    cli.add_flag("--dry-run", "Say what would be removed, and change nothing", dry_run);
    if (!parse(cli, options, argc, argv))
        return EXIT_SUCCESS;
    const auto sysroot = options.open();
    say_what_is_unread(find_engines(sysroot));
    return remove_for(sysroot, engine, dry_run);
}

} // namespace ogh::admin
