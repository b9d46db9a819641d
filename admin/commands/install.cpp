// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "base/contains.h"
#include "base/error.h"
#include "base/text.h"
#include "commands/command.h"
#include "doctor/checks.h"
#include "engines/engine.h"
#include "engines/installed_hooks.h"
#include "install/changes.h"
#include "install/kept_files.h"
#include "install/plans.h"

namespace ogh::admin {

namespace {

/** HOOK..., and then the options of each of these. */
void read_hooks(const std::vector<std::string> &words, InstallRequest &request)
{
    auto word = words.begin();
    for (; word != words.end() && !word->starts_with('-'); ++word)
        request.hooks.push_back(&named_hook(*word));
    request.options.assign(word, words.end());
}

/** The engine of this host. @throws Error (BrokenHost) if there is none */
Engine find_one(const EngineKind &kind, const std::shared_ptr<const Sysroot> &sysroot)
{
    std::vector<Engine> engines = kind.find(kind, sysroot);
    if (engines.empty())
        throw Error(ErrorKind::BrokenHost, "there is no " + kind.name + " on this host");
    return std::move(engines.front());
}

/** @throws Error (Usage) */
void check(const InstallHost &host, const InstallRequest &request)
{
    const std::array<std::pair<const char *, bool>, 5> given{{{"--directory", request.directory.has_value()},
                                                              {"--gpus", request.gpu_flag},
                                                              {"--runtime", request.runtime.has_value()},
                                                              {"--base-spec", request.base_spec.has_value()},
                                                              {"--defaults", request.defaults_alone}}};
    for (const auto &[option, is_given] : given)
        if (is_given && !request.kind->takes(option))
            throw Error(ErrorKind::Usage, "--engine " + request.kind->name + " takes no " + option);
    if (request.base_spec && !wants_runtime(request))
        throw Error(ErrorKind::Usage, "--base-spec goes with --runtime, or with --from of a hook");
    if (request.defaults_alone && !request.hooks.empty())
        throw Error(ErrorKind::Usage, "--defaults goes with no hook");
    if (!request.options.empty() && !request.gpu_flag) // which has more of them, and is checked with these
        for (const OurHook *const hook : request.hooks)
            refuse_wrong_options(*host.sysroot, hook_file({hook, request.options, {}}));
}

InstallPlan plan_for(const InstallHost &host, const InstallRequest &request)
{
    switch (request.kind->way) {
    case EngineKind::Way::HooksD:
        return plan_hooks_d(host, request, find_one(*request.kind, host.sysroot));
    case EngineKind::Way::OneDirectory:
        return plan_one_directory(host, request);
    case EngineKind::Way::Cdi:
        break;
    }
    if (request.kind->takes("--runtime") && wants_runtime(request))
        return plan_runtime(host, request);
    return request.gpu_flag ? plan_gpu_flag(host, request) : plan_cdi(host, request);
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

/** Whether anything is to be written, be it the manifest alone: for one more engine. */
bool has_changes(const std::vector<Change> &changes, const Manifest &manifest)
{
    return manifest_with(changes, manifest).to_text() != manifest.to_text() ||
           std::any_of(changes.begin(), changes.end(),
                       [](const Change &change) { return change.fate == Fate::Write; });
}

/** The files may come before the keys: until these are there, nobody is given anything by them. */
void say_what_keys_lack(const std::vector<Change> &changes, const Sysroot &sysroot)
{
    for (const Change &change : changes) {
        const OurHook *const hook = find_hook(change.planned.file.hook);
        if (hook == nullptr)
            continue;
        const HookFile file = hook_file({hook, change.planned.file.options, {}});
        if (const auto finding = check_key_file(sysroot, file))
            print(finding->text + "; " + finding->remedy + "\n");
    }
}

int install_for(InstallHost host, const InstallRequest &request, bool dry_run)
{
    RootFiles root = RootFiles::of_host(*host.sysroot);
    InstallPlan plan = plan_for(host, request);
    std::vector<Change> changes = changes_for(plan.files, host.manifest, root);
    if (!dry_run && has_changes(changes, host.manifest)) {
        root.lock();
        host.manifest = Manifest::read(*host.sysroot); // by whom had the lock until now
        plan = plan_for(host, request);
        changes = changes_for(plan.files, host.manifest, root);
        carry_out(changes, host.manifest, root, [&] {
            if (request.kind->hooks_dir)
                check_in_effect(changes, find_one(*request.kind, host.sysroot));
        });
    }
    show(changes, dry_run);
    refuse_theirs(changes);
    say_what_keys_lack(changes, *host.sysroot);
    for (const std::string &line : plan.said)
        print(line + "\n");
    return EXIT_SUCCESS;
}

int put_kept_back(const Sysroot &sysroot)
{
    RootFiles root = RootFiles::of_host(sysroot);
    root.lock(true);
    const KeptFiles kept = put_back(root);
    root.keep();
    kept.remove_empty_directories(root);
    for (const std::string &line : kept.said)
        print(line + "\n");
    return EXIT_SUCCESS;
}

} // namespace

int install(CommandLine &cli, Invocation &call)
{
    InstallRequest request;
    bool dry_run = false;
    bool kept = false;
    const std::vector<std::string> names = engine_names();
    const std::string engines = "One of " + quote_list(names);
    cli.add_choice({"--engine", "NAME", engines.c_str()}, {names.begin(), names.end()},
                   [&](const std::string &name) { request.kind = find_engine_kind(name); });
    cli.add({"--directory", "DIR", "Of Concourse's worker (default: /etc/oci-gpu-hooks/concourse-hooks.d)"},
            request.directory);
    cli.add({"--runtime", "NAME", "Of containerd, that pods name (default with --from: gpu)"},
            request.runtime);
    cli.add(
        {"--base-spec", "FILE", "Of containerd: what its containers start from, as 'ctr oci spec' prints it"},
        request.base_spec);
    cli.add_flag("--defaults",
                 "Of podman: the default annotations alone, which before 4.5.1 keep images from asking",
                 request.defaults_alone);
    cli.add_flag("--gpus", "Of docker: what its flag --gpus calls, in place of CDI devices",
                 request.gpu_flag);
    cli.add_flag(
        "--kept",
        "Put back what 'uninstall --keep' has moved, as a package that is installed does; takes no engine",
        kept);
    cli.add_flag("--dry-run", "Show each file and its text, and write nothing", dry_run);
    std::vector<std::string> words;
    cli.add_rest("HOOK... [OPTION...]", "Which hooks (default: all), and the options of each of these",
                 words);
    if (!call.parse())
        return EXIT_SUCCESS;
    read_hooks(words, request);
    if (contains(request.options, "--help")) {
        print(run_hook(*call.open(), {request.hooks.front(), {}, {}}, {"--help"}).out);
        return EXIT_SUCCESS;
    }
    if (kept && (request.kind != nullptr || !words.empty() || dry_run))
        throw Error(ErrorKind::Usage, "--kept goes with neither an engine, nor a hook, nor --dry-run");
    if (kept)
        return put_kept_back(*call.open());
    if (request.kind == nullptr)
        throw Error(ErrorKind::Usage, "which engine? --engine takes " + quote_list(engine_names()));
    const auto sysroot = call.open();
    const InstallHost host{sysroot, Manifest::read(*sysroot)};
    check(host, request);
    say_what_is_unread(find_engines(sysroot));
    return install_for(host, request, dry_run);
}

} // namespace ogh::admin
