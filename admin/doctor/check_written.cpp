// SPDX-License-Identifier: Apache-2.0
#include "doctor/check_written.h"

#include <algorithm>

#include "base/contains.h"
#include "base/error.h"
#include "base/path_names.h"
#include "base/text.h"
#include "host/host_file.h"
#include "registration/manifest.h"
#include "registration/marked_part.h"

namespace ogh::admin {

namespace {

constexpr size_t max_written_size = size_t{1} << 20U;

bool is_there(const Sysroot &sysroot, const InstalledFile &file)
{
    const auto text = read_host_file(sysroot, file.path, max_written_size);
    return text && (file.part.empty() || part_in(*text, file.part));
}

/** Each word as a shell takes it, if it is one without quotes. */
std::string how_to_write_again(const InstalledFile &file)
{
    std::string words =
        "oci-gpu-hooks install --engine " + (file.engines.empty() ? "NAME" : file.engines.front());
    if (!file.part.empty())
        words += " --runtime " + file.part;
    if (!file.hook.empty())
        words += " " + file.hook;
    for (const std::string &option : file.options)
        words += " " + option;
    return "put it back, or have it written again: " + printable(words) +
           "; or have none of it: oci-gpu-hooks uninstall";
}

Finding gone(const Sysroot &sysroot, const InstalledFile &file)
{
    const std::string kept = kept_folder + file.path + (file.part.empty() ? "" : "." + file.part);
    if (sysroot.find(kept))
        return {Severity::Error,
                quote(file.path) + ", which 'install' has written for " + quote_list(file.engines) +
                    ", is out of effect: it is kept in " + quote(kept),
                "oci-gpu-hooks install --kept"};
    const std::string what =
        file.part.empty() ? quote(file.path) : "the part " + quote(file.part) + " of " + quote(file.path);
    return {Severity::Error,
            what + ", which 'install' has written for " + quote_list(file.engines) + ", is not there: " +
                (file.hook.empty() ? "what it set is not in effect"
                                   : file.hook + " is called without this policy, or not at all"),
            how_to_write_again(file)};
}

/** Of engines that read one directory alone: those that run read another one. */
bool is_read(const InstalledFile &file, const std::vector<Engine> &engines)
{
    bool is_one_there = false;
    for (const Engine &engine : engines) {
        if (engine.kind->way() != EngineKind::Way::OneFolder || !contains(file.engines, engine.name))
            continue;
        is_one_there = true;
        if (contains(engine.folder_paths, folder_of(file.path)))
            return true;
    }
    return !is_one_there;
}

Findings check(const Sysroot &sysroot, const std::vector<Engine> &engines, const InstalledFile &file)
{
    if (!is_there(sysroot, file))
        return {gone(sysroot, file)};
    if (is_read(file, engines))
        return {};
    return {{Severity::Error,
             quote(file.path) + ", which 'install' has written for " + quote_list(file.engines) +
                 ", is not in effect: none that runs reads " + quote(folder_of(file.path)),
             "start it with that directory, see what 'install' has said: oci-gpu-hooks install --engine " +
                 file.engines.front() + " --dry-run " + file.hook}};
}

} // namespace

std::optional<Section> check_written(const Sysroot &sysroot, const std::vector<Engine> &engines)
{
    Section section{"what 'install' has written", {}};
    try {
        for (const InstalledFile &file : Manifest::read(sysroot).files)
            add(section.findings, check(sysroot, engines, file));
    } catch (const Error &error) {
        section.findings.push_back({Severity::Error, error.what(), "fix the file"});
    }
    return section.findings.empty() ? std::nullopt : std::optional(std::move(section));
}

} // namespace ogh::admin
