// SPDX-License-Identifier: Apache-2.0
#include <sys/stat.h>

#include <algorithm>
#include <string>

#include "base/contains.h"
#include "base/dotted_version.h"
#include "base/error.h"
#include "base/path_names.h"
#include "base/sha256.h"
#include "base/text.h"
#include "doctor/checks.h"
#include "engines/docker.h"
#include "history/history.h"
#include "host/host_file.h"
#include "host/systemd_units.h"
#include "kernel/user_namespace.h"
#include "lease/leases.h"
#include "lease/waiting/lease_directory.h"
#include "registration/manifest.h"
#include "registration/policy_words.h"

namespace ogh::admin {

namespace {

constexpr size_t max_written_size = size_t{1} << 20U;

/** What it says now, or its part does; nothing if it is not there. */
std::optional<std::string> text_of(const Sysroot &sysroot, const InstalledFile &file)
{
    auto text = read_host_file(sysroot, file.path, max_written_size);
    return text && !file.part.empty() ? part_in(*text, file.part) : text;
}

/** Each word as a shell takes it, if it is one without quotes. */
std::string words_that_write(const InstalledFile &file)
{
    std::string words =
        "oci-gpu-hooks install --engine " + (file.engines.empty() ? "NAME" : file.engines.front());
    if (!file.part.empty())
        words += " --runtime " + file.part;
    if (!file.hook.empty())
        words += " " + file.hook;
    for (const std::string &option : file.options)
        words += " " + option;
    return printable(words);
}

std::string how_to_write_again(const InstalledFile &file)
{
    return "put it back, or have it written again: " + words_that_write(file) +
           "; or have none of it: oci-gpu-hooks uninstall";
}

Finding gone(const Sysroot &sysroot, const InstalledFile &file)
{
    if (const std::string kept = kept_path(file); sysroot.find(kept))
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
        if (engine.kind->way != EngineKind::Way::OneDirectory || !contains(file.engines, engine.kind->name))
            continue;
        is_one_there = true;
        if (contains(engine.directory_paths, directory_of(file.path)))
            return true;
    }
    return !is_one_there;
}

/** The options with which the hook is called by now; those that it was written with where that cannot be read. */
std::vector<std::string> options_in(const InstalledFile &file, const std::string &text)
{
    const auto calls = parse_gpu_flag_script(text);
    for (const HookFile &each : calls ? *calls : std::vector{parse_hook_file(file.path, text)})
        if (each.problem.empty() && each.ours != nullptr && each.ours->name == file.hook &&
            !each.args.empty())
            return {each.args.begin() + 1, each.args.end()};
    return file.options;
}

/** Somebody may mean it so, and says that by `install`; what allows more than was written is worth a look. */
Findings check_changes(const InstalledFile &file, const std::string &text)
{
    const std::string hash = sha256_of(text);
    if (hash == file.hash)
        return {};
    if (hash == file.before)
        return {
            {Severity::Warning, quote(file.path) + " is as it was before an 'install' that was killed",
             "run that again: " + words_that_write(file) + "; or have none of it: oci-gpu-hooks uninstall"}};
    const std::string begin = quote(file.path) + " was changed since 'install' wrote it";
    const Widening widening =
        file.hook.empty() ? Widening() : widening_of(file.options, options_in(file, text));
    if (widening.gone.empty() && widening.come.empty())
        return {{Severity::Note, begin + ": neither 'install' nor 'uninstall' touches it", ""}};
    return {
        {Severity::Warning,
         begin + ": " +
             (widening.gone.empty() ? "" : "it does not have " + quote_list(widening.gone) + " any more") +
             (widening.gone.empty() || widening.come.empty() ? "" : ", and ") +
             (widening.come.empty() ? "" : "it has " + quote_list(widening.come) + " by now"),
         "have it written as it was: rm " + printable(file.path) + "; " + words_that_write(file) +
             "; or with the options that are meant"}};
}

Findings check(const Sysroot &sysroot, const std::vector<Engine> &engines, const InstalledFile &file)
{
    const auto text = text_of(sysroot, file);
    if (!text)
        return {gone(sysroot, file)};
    if (is_read(file, engines))
        return check_changes(file, *text);
    return {{Severity::Error,
             quote(file.path) + ", which 'install' has written for " + quote_list(file.engines) +
                 ", is not in effect: none that runs reads " + quote(directory_of(file.path)),
             "start it with that directory, see what 'install' has said: oci-gpu-hooks install --engine " +
                 file.engines.front() + " --dry-run " + file.hook}};
}

// mount_setattr(2) came with 5.12.
const DottedVersion oldest{5, 12};

Finding check_kernel(const Sysroot &sysroot)
{
    constexpr size_t limit = 4096;
    std::string release = read_host_file(sysroot, "/proc/sys/kernel/osrelease", limit).value_or("");
    release = release.substr(0, release.find('\n'));
    const auto version = DottedVersion::parse_start(release);
    if (!version)
        return {Severity::Warning, "the kernel's version is not known: " + quote(release), "mount /proc"};
    if (*version >= oldest)
        return {Severity::Ok, "Linux " + release, ""};
    return {Severity::Error, "Linux " + release + " is too old: the hooks need 5.12", "run a newer kernel"};
}

/** A unit of systemd that makes a vendor's CDI specification anew. */
Findings check_units(const Sysroot &sysroot)
{
    for (const std::string unit : {"nvidia-cdi-refresh.path", "nvidia-cdi-refresh.service"})
        if (is_enabled_unit(sysroot, unit))
            return {
                {Severity::Warning,
                 "the unit " + unit + " is enabled: it regenerates NVIDIA's CDI specification, with all GPUs",
                 "systemctl disable --now nvidia-cdi-refresh.path nvidia-cdi-refresh.service"}};
    return {};
}

/** What a hook would say of them: also where none lists a GPU, and so none reads them. */
Findings check_leases(const Sysroot &sysroot)
try {
    if (in_initial_user_namespace() || LeaseDirectory::is_possible(sysroot))
        static_cast<void>(Leases::look(sysroot, {}));
    return {};
} catch (const Error &error) {
    return {
        {Severity::Error, std::string(error.what()) + ": no container is given a GPU",
         "chown root:root DIRECTORY; chmod 755 DIRECTORY; or, once no container that runs has a GPU: rm -r "
         "/run/oci-gpu-hooks"}};
}

/** Whether a path is followed by a symlink, the last component too. */
bool has_link(const Sysroot &sysroot, const std::string &path)
{
    bool found = false;
    static_cast<void>(sysroot.find(path, [&](int place) {
        struct stat status {};
        found = found || (::fstat(place, &status) == 0 && S_ISLNK(status.st_mode));
    }));
    return found;
}

/** The history follows none: History::write(). */
Findings check_history(const Sysroot &sysroot)
{
    for (const std::string directory : {"/var", "/var/lib", "/var/lib/oci-gpu-hooks"})
        if (has_link(sysroot, directory))
            return {{Severity::Warning,
                     quote(directory) + " is a symlink: what is given and refused is not written down in " +
                         quote(default_history),
                     "rm " + directory + ", and mount what it is to lead to there: mount --bind"}};
    const auto place = sysroot.find(default_history);
    struct stat status {};
    if (!place || (::fstat(place->fd.get(), &status) == 0 && S_ISREG(status.st_mode)))
        return {};
    return {{Severity::Warning,
             quote(default_history) + " is no plain file: what is given and refused is not written down",
             "remove it"}};
}

} // namespace

Section check_written(const Sysroot &sysroot, const std::vector<Engine> &engines)
{
    Section section{"what 'install' has written", {}};
    try {
        for (const InstalledFile &file : Manifest::read(sysroot).files)
            add(section.findings, check(sysroot, engines, file));
    } catch (const Error &error) {
        section.findings.push_back({Severity::Error, error.what(), "fix the file"});
    }
    return section;
}

Section check_host(const Sysroot &sysroot)
{
    Section section{"this host", {check_kernel(sysroot)}};
    add(section.findings, check_units(sysroot));
    add(section.findings, check_leases(sysroot));
    add(section.findings, check_history(sysroot));
    return section;
}

} // namespace ogh::admin
