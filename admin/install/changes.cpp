// SPDX-License-Identifier: Apache-2.0
#include "install/changes.h"

#include <sys/stat.h>

#include "base/error.h"
#include "base/path_names.h"
#include "base/sha256.h"
#include "base/text.h"

namespace ogh::admin {

namespace {

Fate fate_of(const PlannedFile &planned, const Manifest &manifest, const RootFiles &root)
{
    const PresentFile present = look_at(root, planned.file);
    if (!present.exists)
        return Fate::Write;
    if (!present.is_plain)
        return Fate::Theirs;
    const bool can_be_run = (planned.mode & ~present.mode & S_IXUSR) == 0;
    if (present.text == planned.text && can_be_run)
        return Fate::Same;
    const InstalledFile *const known = manifest.find(planned.file.path, planned.file.part);
    return known != nullptr && is_as_written(*known, present) ? Fate::Write : Fate::Theirs;
}

/** The same text under a name that no engine looks at. */
PlannedFile beside(PlannedFile planned)
{
    const std::string &path = planned.file.path;
    planned.file.path =
        path_in(planned.aside.empty() ? directory_of(path) : planned.aside, file_name_of(path) + ".new");
    planned.file.hook.clear();
    planned.file.options.clear();
    planned.file.part.clear();
    return planned;
}

/** The rest of a file of which it is a part stays, and so does its mode. */
void put(RootFiles &root, const PlannedFile &planned)
{
    const InstalledFile &file = planned.file;
    if (file.part.empty())
        root.write(file.path, planned.text, planned.mode, planned.aside);
    else
        write_part(root, file, planned.text);
}

/** As it is to be while they are made: each file is what it was, or what it is to be. */
Manifest manifest_meanwhile(const std::vector<Change> &changes, const Manifest &manifest,
                            const RootFiles &root)
{
    Manifest known = manifest_with(changes, manifest);
    for (const Change &change : changes) {
        if (change.fate != Fate::Write)
            continue;
        InstalledFile file = change.planned.file;
        if (const PresentFile present = look_at(root, file); present.is_plain) {
            file.before = sha256_of(present.text);
            known.add(std::move(file));
        }
    }
    return known;
}

} // namespace

PlannedFile planned_file(const InstallRequest &request, const std::string &path, std::string text,
                         const std::string &hook, const std::vector<std::string> &options)
{
    const std::string hash = sha256_of(text);
    return {{path, hash, {request.kind->name}, hook, options}, std::move(text)};
}

std::vector<const OurHook *> wanted_hooks(const Sysroot &sysroot, const InstallRequest &request)
{
    if (!request.hooks.empty())
        return request.hooks;
    std::vector<const OurHook *> hooks;
    for (const OurHook &hook : our_hooks())
        if (sysroot.find(hook.executable))
            hooks.push_back(&hook);
    if (hooks.empty())
        throw Error(ErrorKind::BrokenHost, "none of the hooks' executables is on this host");
    return hooks;
}

std::optional<std::vector<std::string>> wanted_options(const InstallHost &host, const InstallRequest &request,
                                                       const std::string &path)
{
    if (!request.options.empty())
        return request.options;
    const InstalledFile *const file = host.manifest.find(path);
    return file == nullptr ? std::nullopt : std::optional(file->options);
}

std::vector<Change> changes_for(const std::vector<PlannedFile> &files, const Manifest &manifest,
                                const RootFiles &root)
{
    std::vector<Change> changes;
    std::vector<Change> theirs;
    for (const PlannedFile &planned : files) {
        const Fate fate = fate_of(planned, manifest, root);
        changes.push_back({planned, fate});
        if (fate != Fate::Theirs)
            continue;
        theirs.push_back({planned, fate});
        PlannedFile other = beside(planned);
        const Fate other_fate = fate_of(other, manifest, root);
        if (other_fate == Fate::Theirs)
            throw Error(ErrorKind::BrokenHost, quote(planned.file.path) +
                                                   " was changed by somebody, and so was " +
                                                   quote(other.file.path) + ": remove that one");
        theirs.push_back({std::move(other), other_fate});
    }
    return theirs.empty() ? changes : theirs;
}

Manifest manifest_with(const std::vector<Change> &changes, Manifest manifest)
{
    for (const Change &change : changes)
        if (change.fate != Fate::Theirs)
            manifest.add(change.planned.file);
    return manifest;
}

void carry_out(const std::vector<Change> &changes, const Manifest &manifest, RootFiles &root,
               const std::function<void()> &check)
{
    store(root, manifest_meanwhile(changes, manifest, root));
    for (const Change &change : changes)
        if (change.fate == Fate::Write)
            put(root, change.planned);
    check();
    store(root, manifest_with(changes, manifest));
    root.keep();
}

} // namespace ogh::admin
