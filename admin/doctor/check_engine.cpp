// SPDX-License-Identifier: Apache-2.0
#include "doctor/check_engine.h"

#include <algorithm>

#include "base/text.h"
#include "doctor/check_annotations.h"
#include "doctor/check_hook_file.h"
#include "doctor/check_vendors.h"

namespace ogh::admin {

namespace {

Findings check_folders(const Engine &engine)
{
    Findings findings;
    findings.push_back(
        {Severity::Note,
         engine.folder_paths.empty()
             ? "it reads no folder of hooks (" + engine.folders_from + ")"
             : "it reads " + quote_list(engine.folder_paths) + " (" + engine.folders_from + ")",
         ""});
    for (const HookFolder &folder : engine.folders) {
        if (!folder.problem.empty())
            findings.push_back({Severity::Error, folder.problem, "mend the folder"});
        else if (!folder.exists)
            findings.push_back(
                {folder.path == default_hooks_folder || folder.path == own_hooks_folder ? Severity::Note
                                                                                        : Severity::Error,
                 "there is no folder " + quote(folder.path) + ", which " + engine.folders_from + " names",
                 "see to it that the name is right"});
    }
    return findings;
}

/** One such file, and the engine starts no container, or none of those that the file is for. */
Findings check_syntax(const Engine &engine)
{
    Findings findings;
    for (const FileInForce &each : files_in_force(engine.folders))
        if (!each.file->problem.empty())
            findings.push_back(
                {Severity::Error,
                 quote(each.file->path) + " cannot be read: " + each.file->problem + "; " +
                     (engine.rules == FolderRules::EveryFile
                          ? "a worker does not start with a file that is no JSON"
                          : engine.name + " starts no container with a file that it cannot read"),
                 engine.rules == FolderRules::EveryFile
                     ? "mend the file, or remove it: each file of the folder is read, whatever its name"
                     : "mend the file, or remove it"});
    return findings;
}

/** Such a hook is left out without a word, or what it is a copy of is in force. */
Findings check_missing(const Engine &engine)
{
    Findings findings;
    for (const HookFolder &folder : engine.folders)
        for (const HookFile &file : folder.files)
            if (file.is_missing && file.ours != nullptr)
                findings.push_back({Severity::Error,
                                    quote(file.path) + " names " + quote(file.executable) +
                                        ", which is not there: " + engine.name +
                                        " leaves the file out without a word",
                                    "install the hooks again, or mend 'path' in the file"});
    return findings;
}

/** A host's own copy is there for its policy. */
Finding replaced(const HookFile &other, const HookFile &in_force)
{
    const bool is_own = other.path.starts_with(std::string(own_hooks_folder) + "/");
    return {is_own ? Severity::Error : Severity::Note,
            quote(other.path) + " is not in force: " + quote(in_force.path) + " takes its place",
            is_own ? "name the folder of the host's own copies last" : ""};
}

Findings check_files(const Engine &engine)
{
    Findings findings;
    for (const FileInForce &each : files_in_force(engine.folders)) {
        if (each.file->ours == nullptr || !each.file->problem.empty())
            continue;
        add(findings, check_hook_file(engine, *each.file));
        for (const HookFile *const other : each.replaced)
            findings.push_back(replaced(*other, *each.file));
    }
    return findings;
}

/** The same hook by two names: it is called twice, and the policy is that of neither. */
Findings check_twice(const Engine &engine)
{
    Findings findings;
    const std::vector<FileInForce> files = files_in_force(engine.folders);
    for (const OurHook &hook : our_hooks()) {
        std::vector<std::string> paths;
        for (const FileInForce &each : files)
            if (each.file->ours == &hook && each.file->problem.empty())
                paths.push_back(each.file->path);
        if (paths.size() > 1)
            findings.push_back({Severity::Error,
                                std::string(hook.name) + " is called by each of " + quote_list(paths) +
                                    ": a container gets what any of these allows",
                                "give the host's own copy the name of the installed file, or remove one"});
    }
    return findings;
}

bool reads(const Engine &engine, std::string_view folder)
{
    return std::any_of(engine.folder_paths.begin(), engine.folder_paths.end(), [&](const std::string &path) {
        const auto last = path.find_last_not_of('/');
        return std::string_view(path).substr(0, last + 1) == folder;
    });
}

/** A copy with a policy, in a folder that the engine does not read: what is in force is something else. */
Findings check_unread(const Engine &engine)
{
    Findings findings;
    for (const std::string_view folder : {own_hooks_folder, default_hooks_folder}) {
        if (reads(engine, folder))
            continue;
        const bool is_meant = folder == own_hooks_folder || engine.folder_paths.empty();
        for (const HookFile &file :
             read_hook_folder(*engine.sysroot, std::string(folder), FolderRules::HooksD).files)
            if (file.ours != nullptr)
                findings.push_back(
                    {is_meant ? Severity::Error : Severity::Note,
                     quote(file.path) + " is not in force: " + engine.name + " does not read that folder",
                     is_meant ? engine.remedy : ""});
    }
    return findings;
}

bool calls_any_of_ours(const Engine &engine)
{
    const auto files = files_in_force(engine.folders);
    return std::any_of(files.begin(), files.end(), [](const FileInForce &each) {
        return each.file->ours != nullptr && each.file->problem.empty();
    });
}

} // namespace

Section check_engine(const Engine &engine)
{
    Section section{engine.title, check_folders(engine)};
    add(section.findings, engine.findings);
    if (engine.is_stopped)
        return section;
    add(section.findings, check_syntax(engine));
    add(section.findings, check_missing(engine));
    add(section.findings, check_files(engine));
    add(section.findings, check_twice(engine));
    add(section.findings, check_unread(engine));
    add(section.findings, check_vendors(engine));
    if (calls_any_of_ours(engine))
        add(section.findings, check_annotations(engine));
    else
        section.findings.push_back({Severity::Warning, "it calls none of the hooks of this collection",
                                    "oci-gpu-hooks install --engine " + engine.name});
    return section;
}

} // namespace ogh::admin
