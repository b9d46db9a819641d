// SPDX-License-Identifier: Apache-2.0
#include <elf.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/contains.h"
#include "base/duration.h"
#include "base/error.h"
#include "base/exit_status.h"
#include "base/path_names.h"
#include "base/text.h"
#include "build_config.h"
#include "doctor/checks.h"
#include "host/trusted_path.h"
#include "kernel/proc_fs.h"
#include "loader/elf_file.h"
#include "registration/policy_words.h"
#include "request/annotations.h"
#include "request/key_file.h"

namespace ogh::admin {

namespace {

std::optional<Finding> check_writers(const Sysroot &sysroot, const HookFile &file)
{
    try {
        static_cast<void>(find_trusted(sysroot, file.executable));
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
 */
std::optional<std::string> version_of(const ElfFile &program)
{
    constexpr std::string_view note("\1\0\0\0oci-gpu-hooks\0\0\0", 20); // type and name
    constexpr std::uint64_t most = 4096;                                // a hook has 200 bytes of notes
    for (const ElfSegment &segment : program.segments()) {
        if (segment.type != PT_NOTE)
            continue;
        const std::string bytes = program.read(segment.offset, std::min(segment.size, most));
        const size_t found = bytes.find(note);
        if (found == std::string::npos)
            continue;
        const size_t version = found + note.size();
        return bytes.substr(version, bytes.find('\0', version) - version);
    }
    return std::nullopt;
}

std::string machine_text(std::uint16_t machine)
{
    for (const auto &[number, name] : {std::pair{EM_X86_64, "x86-64"},
                                       {EM_AARCH64, "aarch64"},
                                       {EM_386, "i386"},
                                       {EM_ARM, "arm"},
                                       {EM_PPC64, "ppc64"},
                                       {EM_RISCV, "riscv"}})
        if (machine == number)
            return name;
    return "a machine of the number " + std::to_string(machine);
}

std::uint16_t own_machine()
{
    const UniqueFd self(::open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
    return ElfFile(self.get(), ElfKind::Program).machine();
}

/** Why the kernel would not run it. @param fd O_PATH */
std::optional<Finding> check_running(const HookFile &file, int fd, const std::string &shown)
{
    struct stat status {};
    if (::fstat(fd, &status) == 0 && (status.st_mode & S_IXUSR) == 0)
        return Finding{Severity::Error, shown + " is not executable: no container is created that calls it",
                       "chmod 755 " + printable(file.executable)};
    if ((status.st_mode & (S_ISUID | S_ISGID)) != 0)
        return Finding{Severity::Error,
                       shown + " is setuid or setgid: each user of this host runs it as root",
                       "chmod 755 " + printable(file.executable)};
    struct statvfs filesystem {};
    if (::fstatvfs(fd, &filesystem) == 0 && (filesystem.f_flag & ST_NOEXEC) != 0)
        return Finding{
            Severity::Error,
            shown + " is on a filesystem that is mounted noexec: no container is created that calls it",
            "take noexec out of the options of that mount: findmnt --target " + printable(file.executable)};
    return std::nullopt;
}

Finding no_hook(const std::string &shown)
{
    return {Severity::Error, shown + " is no hook of this collection",
            "install the hooks again, or fix 'path' in the file"};
}

/** Of which machine and version it is. @param fd O_PATH, of a file that only root may change */
std::optional<Finding> check_content(int fd, const std::string &shown)
try {
    const UniqueFd file = ProcFs().reopen(fd, O_RDONLY | O_NONBLOCK | O_NOCTTY, shown);
    const ElfFile program(file.get(), ElfKind::Program);
    if (program.machine() != own_machine())
        return Finding{Severity::Error,
                       shown + " is for " + machine_text(program.machine()) + ", and this host is " +
                           machine_text(own_machine()),
                       "install the package that is made for this machine"};
    const auto version = version_of(program);
    if (!version)
        return no_hook(shown);
    if (*version == OGH_VERSION)
        return std::nullopt;
    return Finding{Severity::Warning,
                   shown + " is of version " + quote(*version) + ", and this is " OGH_VERSION,
                   "install the hooks and this command of one version"};
} catch (const Error &error) {
    if (error.kind() != ErrorKind::NotAvailable)
        throw;
    return no_hook(shown); // no program at all
}

Finding missing(const Engine &engine, const HookFile &file)
{
    return {Severity::Error,
            quote(file.path) + " names " + quote(file.executable) + ", which is not there" +
                (engine.rules == DirectoryRules::EveryFile ? ": no container is created" : ""),
            "install the hooks again" +
                std::string(has_own_root(engine) ? " where the worker sees them" : "") +
                ", or fix 'path' in the file"};
}

/** What the hook itself takes of the timeout; "Waiting" in oci-gpu-hooks-leases(7). */
constexpr std::int64_t hook_seconds = 5;

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
    if (engine.rules == DirectoryRules::EveryFile)
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

/** Whether the loader, or the C library, takes code from where a variable says: ld.so(8), iconv(3), locale(7). */
bool brings_code(std::string_view variable)
{
    constexpr std::array others{"GCONV_PATH", "GLIBC_TUNABLES", "LOCPATH"};
    return variable.starts_with("LD_") || contains(others, variable);
}

/** A hook that is linked dynamically ends by them; another program of its name would run what they bring. */
std::optional<Finding> check_loader_variables(const HookFile &file)
{
    std::vector<std::string> found;
    for (const std::string &entry : file.environment)
        if (std::string name = entry.substr(0, entry.find('=')); brings_code(name))
            found.push_back(std::move(name));
    if (found.empty())
        return std::nullopt;
    return Finding{Severity::Error,
                   quote(file.path) + " sets " + quote_list(found) +
                       ": what that names becomes part of what runs as root, or the hook does not run",
                   R"(take it out of "env" in "hook")"};
}

std::optional<Finding> check_environment(const HookFile &file)
{
    if (file.has_environment)
        return check_loader_variables(file);
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

/** The first word is the name of the program, whatever it is: an option in its place counts for nobody. */
std::optional<Finding> check_name(const HookFile &file)
{
    if (file.args.empty() || !file.args.front().starts_with('-'))
        return std::nullopt;
    return Finding{Severity::Error,
                   quote(file.path) + ": " + quote(file.args.front()) +
                       " is taken for the name of the program, and does not count: it is the first of 'args'",
                   R"(write "args": [")" + std::string(file.ours->name) + R"(", ...])"};
}

std::optional<Finding> check_log_file(const Engine &engine, const HookFile &file)
{
    const auto log = option_of(file, "--log-file");
    if (!log || !log->starts_with('/') || engine.sysroot->find(directory_of(*log)))
        return std::nullopt;
    return Finding{Severity::Warning,
                   quote(file.path) + ": nothing is written to --log-file, as " + quote(directory_of(*log)) +
                       " is not there",
                   "mkdir " + printable(directory_of(*log)) + ", or name another file"};
}

/** That it is the hook, and whole, is known when it has run. */
std::optional<Finding> check_program(const Sysroot &host, const HookFile &file)
{
    const std::string name(file.ours->name);
    const ProgramOutput said = run_hook(host, {file.ours, {}, {}, {}}, {"--version"});
    const std::string who = said.out.substr(0, said.out.find(' '));
    if (who == name)
        return std::nullopt;
    return Finding{Severity::Error,
                   quote(file.ours->executable) +
                       (said.exit_status == 0
                            ? " is " + printable(who) + ", and not " + name
                            : " does not run: it ended with the status " + std::to_string(said.exit_status)),
                   "install the hooks again"};
}

/** Nobody but the host itself and, by a key, a task can ask on Concourse. */
std::optional<Finding> check_opt_in(const Engine &engine, const HookFile &file)
{
    if (engine.rules != DirectoryRules::EveryFile || needs_every_container(file) ||
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
    if (engine.kind->pod_key.empty() || file.ours->name == "ldcache-update" || needs_every_container(file) ||
        options_of(file).has_limit)
        return std::nullopt;
    return Finding{Severity::Note, quote(file.path) + " has no limit: a pod that asks is refused",
                   "oci-gpu-hooks install --engine " + engine.kind->name +
                       (engine.runtime.empty() ? "" : " --runtime " + engine.runtime) + " " +
                       std::string(file.ours->name) + " --only " + engine.kind->pod_key + "=NAMESPACE"};
}

/** Asked for something that is cheap and changes nothing. */
std::vector<std::string> cheap_question(const HookFile &file)
{
    if (file.ours->name != "ldcache-update")
        return {"--list"};
    return {"--plan", "--request", "none"};
}

/** What the hook says when it is asked, and why its options are wrong on whatever host; "" if they are not. */
struct Answer {
    std::string wrong_options;
    std::optional<ProgramOutput> output; ///< nothing if it was not asked
};

/** The hook itself says what it thinks of its policy; what is wrong with its other options is known without asking it. */
Answer ask(const Sysroot &host, const HookFile &file)
{
    const FileOptions options = options_of(file);
    if (!options.problems.empty())
        return {options.problems.front(), {}};
    if (option_of(file, "--key-file") && option_of(file, "--opt-in") != "environment")
        return {"--key-file needs --opt-in environment", {}};
    if (file.ours->name == "ldcache-update" && option_of(file, "--request"))
        return {}; // it may not be given twice, and without a container nothing else is cheap
    const InstalledHook hook{file.ours, options.policy, {}};
    ProgramOutput output = run_hook(host, hook, cheap_question(file));
    return {is_status(output, ExitStatus::Usage) ? message_of(hook, output) : "", std::move(output)};
}

std::optional<Finding> check_options(const Engine &engine, const HookFile &file)
{
    if (auto other = check_program(*engine.host, file))
        return other;
    const std::string page = std::string(file.ours->name) + "(8)";
    const Answer answer = ask(*engine.host, file);
    if (!answer.wrong_options.empty())
        return Finding{Severity::Error, quote(file.path) + ": " + answer.wrong_options,
                       "fix 'args' in the file, see " + page};
    // With a root of its own it sees other files than the host's.
    if (has_own_root(engine) || !answer.output || is_status(*answer.output, ExitStatus::NotAvailable))
        return std::nullopt;
    const std::string said = message_of({file.ours, {}, {}}, *answer.output);
    if (!is_status(*answer.output, ExitStatus::Success))
        return Finding{Severity::Error, quote(file.path) + ": " + said,
                       "fix what is named there, see " + page};
    return answer.output->err.empty() ? std::nullopt
                                      : std::optional(Finding{Severity::Warning, said, "see " + page});
}

std::string named(const HookFile &file)
{
    return std::string(file.ours->name) + " by " + quote(file.path);
}

} // namespace

std::optional<Finding> check_key_file(const Sysroot &sysroot, const HookFile &file)
{
    const auto path = option_of(file, "--key-file");
    if (!path || !path->starts_with('/'))
        return std::nullopt;
    if (::geteuid() != 0)
        return Finding{Severity::Note,
                       "the key file " + quote(*path) + " is not looked at: it is root's alone",
                       "run this as root"};
    const std::string hook(file.ours->name);
    const std::string refused = ": " + hook + " refuses each container that asks by its environment";
    try {
        const auto text = read_key_text(sysroot, *path);
        if (!text)
            return Finding{Severity::Error, "the key file " + quote(*path) + " is not there" + refused,
                           "oci-gpu-hooks key new NAME --hook " + hook};
        static_cast<void>(KeyFile(*text));
    } catch (const Error &error) {
        return Finding{Severity::Error, error.what() + refused, "fix the key file " + quote(*path)};
    }
    return std::nullopt;
}

Findings check_executable(const Engine &engine, const HookFile &file)
{
    try {
        const auto place = engine.sysroot->find(file.executable);
        if (!place)
            return {missing(engine, file)};
        if (const auto writers = check_writers(*engine.sysroot, file))
            return {*writers};
        const std::string shown =
            quote(file.executable) + (has_own_root(engine) ? " in the root of " + engine.title : "");
        Findings findings;
        for (const auto &finding :
             {check_content(place->fd.get(), shown), check_running(file, place->fd.get(), shown)})
            if (finding)
                findings.push_back(*finding);
        return findings;
    } catch (const Error &error) {
        return {{Severity::Error, error.what(), "install the hooks again"}};
    }
}

void refuse_wrong_options(const Sysroot &host, const HookFile &file)
{
    const std::string name(file.ours->name);
    if (const std::string why = ask(host, file).wrong_options; !why.empty())
        throw Error(ErrorKind::Usage, name + ": " + why + "; see " + name + "(8)");
}

Findings check_hook_file(const Engine &engine, const HookFile &file)
{
    Findings findings = check_executable(engine, file);
    const auto is_right = [&] {
        return std::none_of(findings.begin(), findings.end(),
                            [](const Finding &each) { return each.severity == Severity::Error; });
    };
    const bool is_sound = is_right();
    for (const auto &finding :
         {check_stages(file), check_when(engine, file), check_opt_in(engine, file), check_pods(engine, file),
          check_environment(file), check_timeout(file), check_name(file), check_log_file(engine, file)})
        if (finding)
            findings.push_back(*finding);
    if (is_sound)
        if (const auto options = check_options(engine, file))
            findings.push_back(*options);
    findings.insert(findings.begin(), {is_right() ? Severity::Ok : Severity::Note,
                                       named(file) + ": " + policy_words(file), ""});
    return findings;
}

} // namespace ogh::admin
