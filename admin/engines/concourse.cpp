// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>
#include <linux/capability.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/contains.h"
#include "base/error.h"
#include "base/file.h"
#include "base/number.h"
#include "base/path_names.h"
#include "base/text.h"
#include "base/unique_fd.h"
#include "engines/engine.h"
#include "engines/worker_words.h"
#include "host/host_file.h"
#include "host/root_alone.h"
#include "host/sysroot.h"
#include "lease/presence/processes.h"
#include "registration/manifest.h"

namespace ogh::admin {

namespace {

/** What the kernel says of a process that nobody else decides; proc(5). */
struct ProcessIdentity {
    std::string uids;               ///< real, effective, saved, file system: "0 0 0 0"
    std::uint64_t effective = 0;    ///< its effective capabilities
    std::string user_namespace;     ///< "user:[4026531837]"
    std::string executable;         ///< its path, as the process names it
    std::string why_not_root_alone; ///< what lets others than root change that executable; "" if nothing does

    bool operator==(const ProcessIdentity &) const = default;
};

/**
 * A process of this host: its directory of /proc, which never becomes another process's, and has nothing in it once it has
 * ended. All that is said of a process is read from there. What it says of itself (its command line, its environment) is
 * a claim.
 */
class Process final {
public:
    /** @return nothing if there is none of that number. @throws SystemError (BrokenHost) */
    static std::optional<Process> open(pid_t pid);

    [[nodiscard]] pid_t pid() const { return pid_; }

    /** @throws Error (BrokenHost) if it has ended, or this process may not look */
    [[nodiscard]] ProcessIdentity identity() const;

    /** Its command line, never empty. @return nothing of a kernel's thread, of one that has ended, or above 128 KiB */
    [[nodiscard]] std::optional<std::vector<std::string>> words() const;

    /** The environment that it was started with, NAME=VALUE. @throws Error (BrokenHost) */
    [[nodiscard]] std::vector<std::string> environment() const;

    /** The files as it sees them; nothing if they are those of this process. @throws Error (BrokenHost) */
    [[nodiscard]] std::optional<Sysroot> own_root() const;

    /** @throws Error (BrokenHost) if it has ended, or executed something else since `before` */
    void check_is_still(const ProcessIdentity &before) const;

private:
    Process(pid_t pid, UniqueFd directory) : pid_(pid), directory_(std::move(directory)) {}

    static constexpr size_t max_file = size_t{1} << 21U;

    [[nodiscard]] std::string read(const std::string &name, size_t limit = max_file) const;

    pid_t pid_;
    UniqueFd directory_;
};

/** Anybody can start processes, and each takes some time to look at. */
inline constexpr size_t max_processes = 100'000;

constexpr size_t max_words = size_t{1} << 17U; // bytes of a command line
constexpr int base_of_masks = 16;

/** What stands behind a label at the beginning of a line; "" if there is no such line. */
std::string line_of(const std::string &text, const std::string &label)
{
    const std::string wanted = "\n" + label;
    const std::string lines = "\n" + text;
    const size_t start = lines.find(wanted);
    if (start == std::string::npos)
        return "";
    const size_t value = start + wanted.size();
    return lines.substr(value, lines.find('\n', value) - value);
}

/** Numbers with one space between them. */
std::string with_spaces(std::string text)
{
    std::replace(text.begin(), text.end(), '\t', ' ');
    const size_t start = text.find_first_not_of(' ');
    return start == std::string::npos ? "" : text.substr(start);
}

std::string link_in(int directory, const char *name, const std::string &what)
{
    return read_link(directory, name, quote(name) + " of " + what);
}

struct stat status_in(int directory, const char *name, const std::string &what)
{
    struct stat status {};
    if (::fstatat(directory, name, &status, 0) != 0)
        throw SystemError(errno, "cannot look at " + what + " ('" + name + "')", ErrorKind::BrokenHost);
    return status;
}

bool is_same_file(const struct stat &one, const struct stat &other)
{
    return one.st_dev == other.st_dev && one.st_ino == other.st_ino;
}

std::string named(pid_t pid)
{
    return "the process " + std::to_string(pid);
}

std::optional<Process> Process::open(pid_t pid)
{
    const std::string path = "/proc/" + std::to_string(pid);
    UniqueFd directory(::open(path.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (directory.valid())
        return Process(pid, std::move(directory));
    if (errno == ENOENT)
        return std::nullopt;
    throw SystemError(errno, "cannot look at " + named(pid), ErrorKind::BrokenHost);
}

std::string Process::read(const std::string &name, size_t limit) const
{
    auto text = read_file_in(directory_.get(), name, limit, "'" + name + "' of " + named(pid_));
    if (!text)
        throw Error(ErrorKind::BrokenHost, named(pid_) + " has ended");
    return std::move(*text);
}

ProcessIdentity Process::identity() const
{
    const std::string status = read("status");
    const auto effective = parse_number(with_spaces(line_of(status, "CapEff:")), base_of_masks);
    ProcessIdentity identity;
    identity.uids = with_spaces(line_of(status, "Uid:"));
    if (!effective || identity.uids.empty())
        throw Error(ErrorKind::BrokenHost, "the kernel does not say who " + named(pid_) + " is");
    identity.effective = *effective;
    identity.user_namespace = link_in(directory_.get(), "ns/user", named(pid_));
    identity.executable = link_in(directory_.get(), "exe", named(pid_));
    const UniqueFd file(::openat(directory_.get(), "exe", O_PATH | O_CLOEXEC));
    if (!file.valid())
        throw SystemError(errno, "cannot look at the executable of " + named(pid_), ErrorKind::BrokenHost);
    identity.why_not_root_alone = ogh::why_not_root_alone(file.get());
    return identity;
}

std::optional<std::vector<std::string>> Process::words() const
{
    try {
        std::vector<std::string> words = split_at_nul(read("cmdline", max_words));
        return words.empty() ? std::nullopt : std::optional(std::move(words));
    } catch (const Error &) {
        return std::nullopt; // it has ended, or it is somebody's whom this user may not look at
    }
}

std::vector<std::string> Process::environment() const
{
    return split_at_nul(read("environ"));
}

std::optional<Sysroot> Process::own_root() const
{
    const std::string path = "/proc/" + std::to_string(pid_) + "/root";
    const struct stat theirs = status_in(directory_.get(), "root", named(pid_));
    const struct stat own = status_in(AT_FDCWD, "/proc/self/root", "this process");
    if (link_in(directory_.get(), "ns/mnt", named(pid_)) ==
            link_in(AT_FDCWD, "/proc/self/ns/mnt", "this process") &&
        is_same_file(theirs, own))
        return std::nullopt;
    UniqueFd root(::openat(directory_.get(), "root", O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!root.valid())
        throw SystemError(errno, "cannot open the root of " + named(pid_), ErrorKind::BrokenHost);
    return Sysroot::of_directory(std::move(root), path);
}

void Process::check_is_still(const ProcessIdentity &before) const
{
    if (identity() != before)
        throw Error(ErrorKind::BrokenHost, named(pid_) + " became another program while it was looked at");
}

/** Visits the processes of this host, by number, one at a time. @return false if there are more than max_processes */
bool visit_processes(const std::function<void(const Process &)> &visit)
{
    const UniqueFd proc(::open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!proc.valid())
        return true;
    auto pids = process_numbers(proc.get(), "'/proc'");
    const bool is_all = pids.size() <= max_processes;
    pids.resize(std::min(pids.size(), max_processes));
    for (const pid_t pid : pids)
        if (const auto process = Process::open(pid))
            visit(*process);
    return is_all;
}

/** worker/workercmd of Concourse 8.2: which of its runtimes know hooks. */
void check_runtime(Engine &engine, const WorkerSettings &settings)
{
    const auto runtime = settings.value("runtime", "RUNTIME");
    if (runtime && *runtime != "containerd")
        engine.findings.push_back({Severity::Error,
                                   "its runtime is " + quote(*runtime) + ", which calls no hooks",
                                   "start the worker with --runtime containerd"});
    else if (!runtime)
        engine.findings.push_back({Severity::Note,
                                   "its runtime is the default: containerd since Concourse 8.0, before that "
                                   "guardian, which calls no hooks",
                                   ""});
}

/**
 * Anybody can start a process that is called like a worker, in a container too, and choose its command line and its
 * environment. Root of this very user namespace with CAP_SYS_ADMIN, which a container's root has not by default, and
 * with a program that only root may change, is root anyway.
 * @return "" if it is believed
 */
std::string why_not_believed(const ProcessIdentity &identity)
{
    if (identity.user_namespace != read_link(AT_FDCWD, "/proc/self/ns/user", "'/proc/self/ns/user'"))
        return "it is in another user namespace";
    if (identity.uids != "0 0 0 0")
        return "it is not root's: its user IDs are " + quote(identity.uids);
    if ((identity.effective & (std::uint64_t{1} << CAP_SYS_ADMIN)) == 0)
        return "it has no CAP_SYS_ADMIN, as root of a container";
    if (file_name_of(identity.executable) != "concourse")
        return "its executable is " + quote(identity.executable);
    if (!identity.why_not_root_alone.empty())
        return "its executable " + quote(identity.executable) + " " + identity.why_not_root_alone;
    return "";
}

/** Those that call themselves workers, with why they are not believed. @return whether that is all of them */
bool visit_claims(
    const std::function<void(const Process &, const ProcessIdentity &, const std::string &)> &visit)
{
    return visit_processes([&](const Process &process) {
        const auto words = process.words();
        if (!words || !is_worker(*words))
            return;
        try {
            const ProcessIdentity identity = process.identity();
            visit(process, identity, why_not_believed(identity));
        } catch (const Error &error) {
            visit(process, {}, error.what());
        }
    });
}

/** A note if processes call themselves workers and are not believed. Nothing is read that they name. */
Findings find_claims()
{
    Findings findings;
    size_t count = 0;
    std::string first;
    const bool is_all = visit_claims(
        [&](const Process &process, const ProcessIdentity & /*identity*/, const std::string &why) {
            if (!why.empty() && count++ == 0)
                first = "(pid " + std::to_string(process.pid()) + ") is taken for none: " + why;
        });
    if (!is_all)
        findings.push_back({Severity::Warning,
                            "there are more than " + std::to_string(max_processes) +
                                " processes: a worker with a high number is not seen",
                            "end what starts so many, and run this again"});
    if (count > 0)
        findings.push_back({Severity::Note,
                            "a process that calls itself a worker " + first +
                                (count > 1 ? "; so are " + std::to_string(count - 1) + " more" : ""),
                            ::geteuid() == 0 ? "" : "run this as root, which may look at it"});
    return findings;
}

/** Where no worker runs, what `install` has written for one: that is what its containers will get. */
std::vector<Engine> find_written(const EngineKind &kind, const std::shared_ptr<const Sysroot> &sysroot)
{
    std::set<std::string> directories;
    try {
        for (const InstalledFile &file : Manifest::read(*sysroot).files)
            if (contains(file.engines, kind.name) && sysroot->find(file.path))
                directories.insert(directory_of(file.path));
    } catch (const Error &) {
        return {}; // the doctor says why
    }
    std::vector<Engine> engines;
    for (const std::string &directory : directories) {
        engines.push_back(kind.new_engine(sysroot));
        Engine &engine = engines.back();
        engine.title = kind.name + " (no worker runs)";
        engine.directory_paths = {directory};
        engine.directories_from = "'install' has written for it";
        engine.findings.push_back(
            {Severity::Note, "whether a worker reads this directory is known only when it runs", ""});
        read_directories(engine);
    }
    return engines;
}

Engine new_worker(const EngineKind &kind, const std::shared_ptr<const Sysroot> &host, const Process &process)
{
    Engine engine = kind.new_engine(host);
    engine.title = "concourse worker (pid " + std::to_string(process.pid()) + ")";
    engine.remedy =
        "start the worker with --containerd-oci-hooks-dir, or CONCOURSE_CONTAINERD_OCI_HOOKS_DIR, "
        "set to one directory with all files";
    return engine;
}

/** Of one that is believed. What it names is read, and never run. */
Engine read_worker(const EngineKind &kind, const std::shared_ptr<const Sysroot> &host, const Process &process,
                   const ProcessIdentity &identity)
{
    Engine engine = new_worker(kind, host, process);
    if (auto root = process.own_root())
        engine.sysroot = std::make_shared<const Sysroot>(std::move(*root));
    const WorkerSettings settings(process.words().value_or(std::vector<std::string>{"concourse"}),
                                  process.environment());
    engine.directories_from = "it was started without --containerd-oci-hooks-dir";
    if (const auto directory = settings.value("containerd-oci-hooks-dir", "CONTAINERD_OCI_HOOKS_DIR")) {
        engine.directory_paths = {*directory};
        engine.directories_from = "its option --containerd-oci-hooks-dir";
    }
    process.check_is_still(identity);
    read_directories(engine);
    check_runtime(engine, settings);
    process.check_is_still(identity);
    return engine;
}

/** One that cannot be looked at to its end: nothing is known of it, and it is not taken for what it is not. */
Engine read_or_say_why(const EngineKind &kind, const std::shared_ptr<const Sysroot> &host,
                       const Process &process, const ProcessIdentity &identity)
{
    try {
        return read_worker(kind, host, process, identity);
    } catch (const Error &error) {
        Engine engine = new_worker(kind, host, process);
        engine.directories_from = "it could not be looked at";
        engine.is_stopped = true;
        engine.findings.push_back({Severity::Error, error.what(), "run this again, as root"});
        return engine;
    }
}

/**
 * The workers that run on this host, each with its directory of hooks, as it sees that: it may have a root of its own.
 * Whoever is not root of this user namespace is not believed to be one. Without one, and on another host (--sysroot),
 * the directories that were written for workers.
 */
std::vector<Engine> find_workers(const EngineKind &kind, const std::shared_ptr<const Sysroot> &sysroot)
{
    std::vector<Engine> workers;
    if (is_this_host(*sysroot))
        visit_claims([&](const Process &process, const ProcessIdentity &identity, const std::string &why) {
            if (why.empty())
                workers.push_back(read_or_say_why(kind, sysroot, process, identity));
        });
    return workers.empty() ? find_written(kind, sysroot) : workers;
}

std::vector<Section> notes_of_concourse(const EngineKind &kind, const Sysroot &sysroot, bool is_found)
{
    std::vector<Section> sections;
    if (!is_this_host(sysroot))
        return sections;
    if (!is_found && kind.is_installed(sysroot))
        sections.push_back({kind.name,
                            {{Severity::Note, "it is installed, and no worker of it runs",
                              "start the worker: which directory of hooks it reads is known only then"}}});
    if (Findings claims = find_claims(); !claims.empty())
        sections.push_back({"processes", std::move(claims)});
    return sections;
}

} // namespace

const EngineKind &concourse_kind()
{
    static const EngineKind kind{
        .name = "concourse",
        .program = "concourse",
        .way = EngineKind::Way::OneDirectory,
        .program_directories = {"/var/lib/concourse/bin", "/usr/local/concourse/bin", "/opt/concourse/bin"},
        .install_options = {"--directory"},
        .own_directory = "/etc/oci-gpu-hooks/concourse-hooks.d",
        .left_to_do = {"set in the worker's unit, below [Service], as in "
                       "/etc/systemd/system/concourse-worker.service.d/oci-gpu-hooks.conf:\n"
                       "    Environment=CONCOURSE_RUNTIME=containerd\n"
                       "    Environment=CONCOURSE_CONTAINERD_OCI_HOOKS_DIR=DIRECTORY",
                       "the worker reads the directory when it starts: "
                       "systemctl daemon-reload && systemctl restart concourse-worker"},
        .find = find_workers,
        .notes = notes_of_concourse,
    };
    return kind;
}

} // namespace ogh::admin
