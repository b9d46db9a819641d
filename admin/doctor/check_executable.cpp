// SPDX-License-Identifier: Apache-2.0
#include "doctor/check_executable.h"

#include <sys/stat.h>

#include <algorithm>
#include <optional>
#include <string>

#include "base/error.h"
#include "base/text.h"
#include "build_config.h"
#include "engines/host_copy.h"
#include "engines/programs.h"

namespace ogh::admin {

namespace {

constexpr std::chrono::seconds version_limit{10};

/** @return what is wrong with it; "" if only root may write it */
std::string who_may_write(int fd)
{
    struct stat status {};
    if (::fstat(fd, &status) != 0)
        return "cannot be looked at";
    if (status.st_uid != 0)
        return "belongs to user " + std::to_string(status.st_uid);
    // Others may put files into a sticky folder, and not exchange one that is there; stat(2) on S_ISVTX.
    const bool is_sticky = S_ISDIR(status.st_mode) && (status.st_mode & S_ISVTX) != 0;
    if ((status.st_mode & (S_IWGRP | S_IWOTH)) != 0 && !is_sticky)
        return "may be written by others than its owner";
    return "";
}

std::optional<Finding> check_writers(const Sysroot &sysroot, const HookFile &file)
{
    std::string problem;
    const auto place = sysroot.find(file.executable, [&](int folder) {
        if (const std::string why = who_may_write(folder); !why.empty() && problem.empty())
            problem = "a folder on the way to " + quote(file.executable) + " " + why;
    });
    if (place && problem.empty())
        if (const std::string why = who_may_write(place->fd.get()); !why.empty())
            problem = quote(file.executable) + " " + why;
    if (problem.empty())
        return std::nullopt;
    return Finding{Severity::Error, problem + ": whoever that is becomes root when a container is created",
                   "give it to root, with mode 0755"};
}

std::optional<Finding> check_version(const Sysroot &sysroot, const HookFile &file, const std::string &path)
{
    const ProgramOutput output = run_program({sysroot.on_host(path), "--version"}, version_limit);
    if (output.exit_status != 0)
        return Finding{Severity::Error,
                       quote(file.executable) + " does not run here (exit status " +
                           std::to_string(output.exit_status) + ")",
                       "install the hooks again"};
    const std::string said = last_line(output.out);
    const std::string expected = std::string(file.ours->name) + " " OGH_VERSION;
    if (said == expected)
        return std::nullopt;
    return Finding{Severity::Warning,
                   quote(file.executable) + " says " + quote(said) + ", and this is " + expected,
                   "install the hooks and this command of one version"};
}

/** What lies in another root was made for it, and is not for this process to execute. */
std::optional<Finding> check_copy(const Engine &engine, const HookFile &file)
{
    const auto copy = find_host_copy(engine, file);
    if (!copy)
        return Finding{Severity::Note,
                       quote(file.executable) + " lies in the root of " + engine.title +
                           ", and this host has none to compare it with",
                       ""};
    if (copy->is_same)
        return std::nullopt;
    return Finding{Severity::Warning,
                   quote(file.executable) + " in the root of " + engine.title + " is not the same file as " +
                       quote(copy->executable) + " of this host",
                   "install the hooks of one version on the host and there"};
}

Finding missing(const Engine &engine, const HookFile &file)
{
    return {Severity::Error,
            quote(file.path) + " names " + quote(file.executable) + ", which is not there" +
                (engine.rules == FolderRules::EveryFile ? ": no container is created" : ""),
            "install the hooks again" +
                std::string(has_own_root(engine) ? " where the worker sees them" : "") +
                ", or mend 'path' in the file"};
}

} // namespace

Findings check_executable(const Engine &engine, const HookFile &file)
{
    Findings findings;
    try {
        const auto place = engine.sysroot->find(file.executable);
        if (!place)
            return {missing(engine, file)};
        if (const auto writers = check_writers(*engine.sysroot, file))
            return {*writers}; // and it is not run
        if (const auto finding = has_own_root(engine) ? check_copy(engine, file)
                                                      : check_version(*engine.sysroot, file, place->path))
            findings.push_back(*finding);
    } catch (const Error &error) {
        findings.push_back({Severity::Error, error.what(), "install the hooks again"});
    }
    return findings;
}

std::vector<InstalledHook> runnable_hooks(const std::shared_ptr<const Sysroot> &sysroot,
                                          std::vector<InstalledHook> hooks)
{
    Engine engine;
    engine.sysroot = engine.host = sysroot;
    const auto is_wrong = [&](const InstalledHook &hook) {
        const Findings findings = check_executable(engine, hook_file(hook));
        return std::any_of(findings.begin(), findings.end(),
                           [](const Finding &each) { return each.severity == Severity::Error; });
    };
    hooks.erase(std::remove_if(hooks.begin(), hooks.end(), is_wrong), hooks.end());
    return hooks;
}

} // namespace ogh::admin
