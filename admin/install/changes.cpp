// SPDX-License-Identifier: Apache-2.0
#include "install/changes.h"

#include <algorithm>

#include "base/error.h"
#include "base/path_names.h"
#include "base/text.h"

namespace ogh::admin {

namespace {

Fate fate_of(const PlannedFile &planned, const Manifest &manifest, const HostWriter &writer)
{
    const PresentFile present = writer.look(planned.file.path);
    if (!present.exists)
        return Fate::Write;
    if (!present.is_plain)
        return Fate::Theirs;
    if (present.text == planned.text)
        return Fate::Same;
    const InstalledFile *const known = manifest.find(planned.file.path);
    return known != nullptr && known->has_text(present.text) ? Fate::Write : Fate::Theirs;
}

/** The same text under a name that no engine looks at. */
PlannedFile beside(PlannedFile planned)
{
    const std::string &path = planned.file.path;
    planned.file.path = planned.way + path.substr(path.rfind('/')) + ".new";
    planned.file.hook.clear();
    planned.file.options.clear();
    return planned;
}

bool is_recorded(const Change &change, const Manifest &manifest)
{
    return change.fate == Fate::Write ||
           (change.fate == Fate::Same && manifest.find(change.planned.file.path) != nullptr);
}

Manifest with(const std::vector<Change> &changes, Manifest manifest)
{
    for (const Change &change : changes)
        if (is_recorded(change, manifest))
            manifest.add(change.planned.file);
    return manifest;
}

/** Each with the text alone that it has now. */
Manifest settled(const std::vector<Change> &changes, Manifest manifest)
{
    for (InstalledFile &file : manifest.files)
        for (const Change &change : changes)
            if (change.planned.file.path == file.path && change.fate != Fate::Theirs)
                file.hashes = change.planned.file.hashes;
    return manifest;
}

} // namespace

std::vector<Change> changes_for(const std::vector<PlannedFile> &files, const Manifest &manifest,
                                const HostWriter &writer)
{
    std::vector<Change> changes;
    std::vector<Change> theirs;
    for (const PlannedFile &planned : files) {
        const Fate fate = fate_of(planned, manifest, writer);
        changes.push_back({planned, fate});
        if (fate != Fate::Theirs)
            continue;
        theirs.push_back({planned, fate});
        PlannedFile other = beside(planned);
        const Fate other_fate = fate_of(other, manifest, writer);
        if (other_fate == Fate::Theirs)
            throw Error(ErrorKind::BrokenHost, quote(planned.file.path) +
                                                   " was changed by somebody, and so was " +
                                                   quote(other.file.path) + ": remove that one");
        theirs.push_back({std::move(other), other_fate});
    }
    return theirs.empty() ? changes : theirs;
}

bool has_changes(const std::vector<Change> &changes, const Manifest &manifest)
{
    return settled(changes, with(changes, manifest)).to_text() != manifest.to_text() ||
           std::any_of(changes.begin(), changes.end(),
                       [](const Change &change) { return change.fate == Fate::Write; });
}

void carry_out(const std::vector<Change> &changes, Manifest manifest, HostWriter &writer,
               const std::function<void()> &check)
{
    manifest = with(changes, std::move(manifest));
    store(manifest, writer);
    for (const Change &change : changes)
        if (change.fate == Fate::Write)
            writer.write(change.planned.file.path, change.planned.text, change.planned.way);
    check();
    store(settled(changes, std::move(manifest)), writer);
    writer.keep();
}

void store(const Manifest &manifest, HostWriter &writer)
{
    if (manifest.files.empty())
        writer.remove(Manifest::path);
    else
        writer.write(Manifest::path, manifest.to_text(), folder_of(Manifest::path));
}

} // namespace ogh::admin
