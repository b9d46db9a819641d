// SPDX-License-Identifier: Apache-2.0
#include "doctor/check_hook_file.h"

#include <fcntl.h>

#include <algorithm>
#include <optional>

#include <nlohmann/json.hpp>

#include "base/contains.h"
#include "base/duration.h"
#include "base/error.h"
#include "base/exit_status.h"
#include "base/file.h"
#include "base/text.h"
#include "build_config.h"
#include "engines/installed_hooks.h"
#include "host/root_alone.h"
#include "kernel/proc_fs.h"
#include "registration/policy_words.h"
#include "request/annotations.h"

namespace ogh::admin {

namespace {

/** What the hook itself takes of the timeout; "Waiting" in oci-gpu-hooks-leases(7). */
constexpr std::int64_t hook_seconds = 5;

std::optional<Finding> check_writers(const Sysroot &sysroot, const HookFile &file)
{
    try {
        static_cast<void>(find_of_root_alone(sysroot, file.executable));
        return std::nullopt;
    } catch (const Error &error) {
        return Finding{Severity::Error,
                       std::string(error.what()) +
                           ": whoever that is becomes root when a container is created",
                       "give it to root, with mode 0755"};
    }
}

/**
 * The version that a hook says of itself in a note, VersionNote in common/hook/hook.cpp; nothing of what is no hook. It
 * is read, and not run.
 * @param fd O_PATH, of a file that only root may change
 */
std::optional<std::string> version_of(int fd, const std::string &shown)
{
    constexpr size_t most = size_t{1} << 28U;
    constexpr std::string_view note("\1\0\0\0oci-gpu-hooks\0\0\0", 20); // type and name
    const UniqueFd file = ProcFs().reopen(fd, O_RDONLY | O_NONBLOCK | O_NOCTTY, shown);
    const std::string bytes = read_all(file.get(), most, shown);
    const size_t found = bytes.find(note);
    if (found == std::string::npos)
        return std::nullopt;
    const size_t version = found + note.size();
    return bytes.substr(version, bytes.find('\0', version) - version);
}

std::optional<Finding> check_version(const Engine &engine, const HookFile &file, int fd)
{
    const std::string shown =
        quote(file.executable) + (has_own_root(engine) ? " in the root of " + engine.title : "");
    const auto version = version_of(fd, shown);
    if (!version)
        return Finding{Severity::Error, shown + " is no hook of this collection",
                       "install the hooks again, or fix 'path' in the file"};
    if (*version == OGH_VERSION)
        return std::nullopt;
    return Finding{Severity::Warning,
                   shown + " is of version " + quote(*version) + ", and this is " OGH_VERSION,
                   "install the hooks and this command of one version"};
}

Finding missing(const Engine &engine, const HookFile &file)
{
    return {Severity::Error,
            quote(file.path) + " names " + quote(file.executable) + ", which is not there" +
                (engine.rules == FolderRules::EveryFile ? ": no container is created" : ""),
            "install the hooks again" +
                std::string(has_own_root(engine) ? " where the worker sees them" : "") +
                ", or fix 'path' in the file"};
}

std::optional<Finding> check_stages(const HookFile &file)
{
    if (file.stages == std::vector<std::string>{"createRuntime"})
        return std::nullopt;
    const bool is_called = contains(file.stages, "createRuntime");
    return Finding{Severity::Error,
                   quote(file.path) +
                       (is_called
                            ? " names other stages than createRuntime: the hook runs more than once, or fails"
                            : " does not name the stage createRuntime: the hook cannot do its work"),
                   R"(write "stages": ["createRuntime"])"};
}

std::string right_when(const OurHook &hook)
{
    const nlohmann::json when{{"annotations", {{annotations_of(hook), values_that_count}}}};
    return R"(write "when": )" + when.dump();
}

/** A value that no annotation has by chance. */
constexpr const char *any_value = "all";

std::optional<Finding> check_when(const Engine &engine, const HookFile &file)
{
    if (engine.rules == FolderRules::EveryFile)
        return std::nullopt; // not evaluated
    const std::string key = std::string(annotation_prefix) + std::string(file.ours->name);
    if (needs_every_container(file)) {
        if (is_called_for(file, "org.example.other", any_value))
            return std::nullopt;
        return Finding{Severity::Error,
                       quote(file.path) +
                           " lets containers ask without an annotation, and its 'when' does not call "
                           "the hook for these: they get nothing, without a word",
                       R"(write "when": {"always": true})"};
    }
    if (!is_called_for(file, key, any_value))
        return Finding{Severity::Error,
                       quote(file.path) + ": 'when' does not match the annotation " + quote(key) +
                           ": who asks gets nothing, without a word",
                       right_when(*file.ours)};
    const bool sees_misspelt_ones =
        file.ours->name != misspelling_hook || is_called_for(file, key + "s", any_value);
    if (!sees_misspelt_ones || !is_called_for(file, key + "/name", any_value) ||
        !is_called_for(file, key, ""))
        return Finding{Severity::Warning,
                       quote(file.path) + ": 'when' does not match " +
                           (sees_misspelt_ones ? "" : "misspelt annotations, ") +
                           "those for one container of a pod and empty values: such a container "
                           "starts without what it asks for, without a word",
                       right_when(*file.ours)};
    return std::nullopt;
}

std::optional<Finding> check_environment(const HookFile &file)
{
    if (file.has_environment)
        return std::nullopt;
    return Finding{Severity::Warning,
                   quote(file.path) +
                       " gives the hook no environment of its own: it gets that of whoever starts "
                       "containers",
                   R"(write "env": ["PATH=/usr/sbin:/usr/bin:/sbin:/bin"] into "hook")"};
}

std::optional<Finding> check_timeout(const HookFile &file)
{
    const auto wait = option_of(file, "--max-wait");
    const auto longest = wait ? parse_duration(*wait) : std::nullopt;
    const std::int64_t needed = (longest ? longest->count() : 25) + hook_seconds;
    if (!file.timeout_s || *file.timeout_s >= needed)
        return std::nullopt;
    return Finding{Severity::Error,
                   quote(file.path) + " ends the hook after " + std::to_string(*file.timeout_s) +
                       " s, and it may take longer" + (wait ? ": --max-wait is " + quote(*wait) : ""),
                   "write \"timeout\": " + std::to_string(needed)};
}

/** Nobody but the host itself and, by a key, a task can ask on Concourse. */
std::optional<Finding> check_opt_in(const Engine &engine, const HookFile &file)
{
    if (engine.rules != FolderRules::EveryFile || needs_every_container(file) ||
        file.ours->name == "ldcache-update")
        return std::nullopt;
    return Finding{
        Severity::Warning,
        quote(file.path) + " gives to containers with annotations alone, and a pipeline can set none",
        R"(write "--opt-in", "always", "--request", ... or "--opt-in", "environment", "--key-file", )"
        R"(... into "args", see "CONCOURSE" in oci-gpu-hooks(7))"};
}

/** What it says of pods is said before one is refused. */
std::optional<Finding> check_pods(const Engine &engine, const HookFile &file)
{
    if (engine.kind->pod_key().empty() || file.ours->name == "ldcache-update" ||
        needs_every_container(file) || options_of(file).has_limit)
        return std::nullopt;
    return Finding{Severity::Note, quote(file.path) + " has no limit: a pod that asks is refused",
                   "oci-gpu-hooks install --engine " + engine.name +
                       (engine.runtime.empty() ? "" : " --runtime " + engine.runtime) + " " +
                       std::string(file.ours->name) + " --only " + engine.kind->pod_key() + "=NAMESPACE"};
}

/** Asked for something that is cheap and changes nothing. */
std::vector<std::string> cheap_question(const HookFile &file)
{
    if (file.ours->name != "ldcache-update")
        return {"--list"};
    return {"--plan", "--request", "none"};
}

Finding wrong_options(const HookFile &file, const std::string &why)
{
    return {Severity::Error, quote(file.path) + ": " + why,
            "fix 'args' in the file, see " + std::string(file.ours->name) + "(8)"};
}

/** What the hook itself says of its policy, and, without asking it, what is wrong with its other options. */
std::optional<Finding> check_options(const Engine &engine, const HookFile &file)
{
    const FileOptions options = options_of(file);
    if (!options.problems.empty())
        return wrong_options(file, options.problems.front());
    if (option_of(file, "--key-file") && option_of(file, "--opt-in") != "environment")
        return wrong_options(file, "--key-file needs --opt-in environment");
    const bool lists = file.ours->name != "ldcache-update";
    if (!lists && option_of(file, "--request"))
        return std::nullopt; // it may not be given twice, and without a container nothing else is cheap
    const InstalledHook hook{file.ours, options.policy, {}};
    const ProgramOutput output = run_hook(*engine.host, hook, cheap_question(file));
    const bool is_empty_host = output.exit_status == static_cast<int>(ExitStatus::NotAvailable);
    // Of a root of its own it sees other files than the host's, which only its command line does not depend on.
    if (has_own_root(engine) && output.exit_status != static_cast<int>(ExitStatus::Usage))
        return std::nullopt;
    if (output.exit_status != 0 && !is_empty_host)
        return wrong_options(file, message_of(hook, output));
    if (output.err.empty() || is_empty_host)
        return std::nullopt;
    return Finding{Severity::Warning, message_of(hook, output),
                   "see " + std::string(file.ours->name) + "(8)"};
}

std::string named(const HookFile &file)
{
    return std::string(file.ours->name) + " by " + quote(file.path);
}

} // namespace

Findings check_executable(const Engine &engine, const HookFile &file)
{
    try {
        const auto place = engine.sysroot->find(file.executable);
        if (!place)
            return {missing(engine, file)};
        if (const auto writers = check_writers(*engine.sysroot, file))
            return {*writers};
        const auto version = check_version(engine, file, place->fd.get());
        return version ? Findings{*version} : Findings{};
    } catch (const Error &error) {
        return {{Severity::Error, error.what(), "install the hooks again"}};
    }
}

Findings check_hook_file(const Engine &engine, const HookFile &file)
{
    Findings findings = check_executable(engine, file);
    const bool is_sound = std::none_of(findings.begin(), findings.end(),
                                       [](const Finding &each) { return each.severity == Severity::Error; });
    for (const auto &finding : {check_stages(file), check_when(engine, file), check_opt_in(engine, file),
                                check_pods(engine, file), check_environment(file), check_timeout(file)})
        if (finding)
            findings.push_back(*finding);
    if (is_sound)
        if (const auto options = check_options(engine, file))
            findings.push_back(*options);
    const bool is_right = std::none_of(findings.begin(), findings.end(),
                                       [](const Finding &each) { return each.severity == Severity::Error; });
    findings.insert(findings.begin(),
                    {is_right ? Severity::Ok : Severity::Note, named(file) + ": " + policy_words(file), ""});
    return findings;
}

} // namespace ogh::admin
