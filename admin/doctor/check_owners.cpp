// SPDX-License-Identifier: Apache-2.0
#include "doctor/check_owners.h"

#include <functional>
#include <set>

#include "base/error.h"
#include "base/path_names.h"
#include "base/text.h"
#include "host/root_alone.h"

namespace ogh::admin {

namespace {

Finding of_others(const std::string &what, const std::string &remedy)
{
    return {Severity::Error, what + ": whoever that is says what runs as root when a container is created",
            remedy};
}

/** A place, and each directory and symlink on the way to it. @return whether it is root's alone, or is not there */
bool check_path(const Sysroot &sysroot, const std::string &path, Findings &findings)
{
    const std::string remedy =
        "give it to root, with mode 0755 for a directory and 0644 for a file: " + printable(path);
    try {
        const auto place = find_of_root_alone(sysroot, path);
        // In a sticky directory others may not replace a file, but may add one.
        const std::string why = place ? why_others_may_add(place->fd.get()) : "";
        if (!why.empty())
            findings.push_back(of_others(quote(path) + " " + why, remedy));
        return why.empty();
    } catch (const Error &error) {
        findings.push_back(of_others(error.what(), remedy));
        return false;
    }
}

} // namespace

Findings check_owners(const Engine &engine)
{
    Findings findings;
    std::set<std::string> seen;
    const auto is_right = [&](const std::string &path) {
        return !seen.insert(path).second || check_path(*engine.sysroot, path, findings);
    };
    std::set<std::string> open_to_others; // what is said of a directory goes for its files
    for (const HookDirectory &directory : engine.directories)
        if (directory.exists && !is_right(directory.path))
            open_to_others.insert(directory.path);
    for (const FileInForce &each : files_in_force(engine.directories))
        if (each.file->problem.empty() && !open_to_others.contains(directory_of(each.file->path)))
            is_right(each.file->path);
    if (!engine.directories_file.empty())
        is_right(engine.directories_file);
    return findings;
}

} // namespace ogh::admin
