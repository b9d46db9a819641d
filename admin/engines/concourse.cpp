// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>
#include <linux/capability.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
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
#include "host/sysroot.h"
#include "host/trusted_path.h"
#include "lease/presence/processes.h"
#include "registration/manifest.h"

namespace ogh::admin {

namespace {

/** Who a process is. What the kernel says of its owner nobody else decides, and it knows that without asking anybody; proc(5). */
struct ProcessIdentity {
    std::string uids;            ///< real, effective, saved, file system: "0 0 0 0"
    std::uint64_t effective = 0; ///< its effective capabilities
    bool is_of_this_user_namespace = false;
    std::string executable;      ///< its path, as the process names it
    std::string why_not_trusted; ///< what lets others than root change that executable; "" if nothing does

    bool operator==(const ProcessIdentity &) const = default;
};

/**
 * A process of this host: its directory of /proc, which never becomes another process's, and has nothing in it once it has
 * ended. All that is said of a process is read from there. What it says of itself (its command line, its environment) is
 * a claim.
 */
struct Process {
    pid_t pid;
    UniqueFd directory; ///< O_PATH
};

/** Anybody can start processes, and each takes some time to look at. */
constexpr size_t max_processes = 100'000;

constexpr size_t max_words = size_t{1} << 17U; // bytes of a command line
constexpr size_t max_process_file = size_t{1} << 21U;

std::string named(const Process &process)
{
    return "the process " + std::to_string(process.pid);
}

/** @throws Error (BrokenHost) if it has ended, or this process may not look */
std::string read(const Process &process, const std::string &name, size_t limit = max_process_file)
{
    auto text = read_file_in(process.directory.get(), name, limit, "'" + name + "' of " + named(process));
    if (!text)
        throw Error(ErrorKind::BrokenHost, named(process) + " has ended");
    return std::move(*text);
}

UniqueFd open_in(const Process &process, const char *name, int flags)
{
    UniqueFd fd(::openat(process.directory.get(), name, flags | O_PATH | O_CLOEXEC));
    if (!fd.valid())
        throw SystemError(errno, "cannot look at '" + std::string(name) + "' of " + named(process),
                          ErrorKind::BrokenHost);
    return fd;
}

/** Whether its root, or a namespace of it ("ns/mnt"), is that of this process. @throws Error (BrokenHost) */
bool is_shared(const Process &process, const std::string &name)
{
    struct stat theirs {};
    struct stat own {};
    if (::fstatat(process.directory.get(), name.c_str(), &theirs, 0) != 0 ||
        ::stat(("/proc/self/" + name).c_str(), &own) != 0)
        throw SystemError(errno, "cannot look at " + named(process) + " ('" + name + "')",
                          ErrorKind::BrokenHost);
    return theirs.st_dev == own.st_dev && theirs.st_ino == own.st_ino;
}

/** What stands behind a label of /proc/PID/status, with blanks for tabs; "" if there is no such line. */
std::string value_in(const std::string &status, std::string_view label)
{
    for (std::string &line : split_list(status, '\n')) {
        std::replace(line.begin(), line.end(), '\t', ' ');
        if (line.starts_with(label))
            return std::string(trimmed(line.substr(label.size())));
    }
    return "";
}

/**
 * Anybody can start a process that is called like a worker, in a container too, and choose its command line and its
 * environment. Root of this very user namespace with CAP_SYS_ADMIN, which a container's root has not by default, and
 * with a program that only root may change, is root anyway. Of anybody else neither the program is looked at nor the command
 * line: the one may be on a file system that never answers, and one of its threads may wait for such a one and keep the
 * memory in which the other is.
 * @return "" if it is root in that sense
 */
std::string why_not_root(const ProcessIdentity &owner)
{
    if (!owner.is_of_this_user_namespace)
        return "it is in another user namespace";
    if (owner.uids != "0 0 0 0")
        return "it is not root's: its user IDs are " + quote(owner.uids);
    if ((owner.effective & (std::uint64_t{1} << CAP_SYS_ADMIN)) == 0)
        return "it has no CAP_SYS_ADMIN, as root of a container";
    return "";
}

/**
 * Without its program.
 * @param status of /proc/PID. @throws Error (BrokenHost) if it has ended, or this process may not look
 */
ProcessIdentity owner_of(const Process &process, const std::string &status)
{
    constexpr int base_of_masks = 16;
    const auto effective = parse_number(value_in(status, "CapEff:"), base_of_masks);
    const std::string uids = value_in(status, "Uid:");
    if (!effective || uids.empty())
        throw Error(ErrorKind::BrokenHost, "the kernel does not say who " + named(process) + " is");
    return {uids, *effective, is_shared(process, "ns/user"), "", ""};
}

/** Of one that is root. @throws Error (BrokenHost) as above */
ProcessIdentity identity_of(const Process &process)
{
    ProcessIdentity identity = owner_of(process, read(process, "status"));
    identity.executable = read_link(process.directory.get(), "exe", "'exe' of " + named(process));
    identity.why_not_trusted = why_not_trusted(open_in(process, "exe", 0).get());
    return identity;
}

/** Its command line; none of a kernel's thread, of one that has ended or may not be looked at, or above 128 KiB. */
std::vector<std::string> words_of(const Process &process)
{
    try {
        return split_at_nul(read(process, "cmdline", max_words));
    } catch (const Error &) {
        return {};
    }
}

/** The files as it sees them; nothing if they are those of this process. @throws Error (BrokenHost) */
std::optional<Sysroot> own_root_of(const Process &process)
{
    if (is_shared(process, "ns/mnt") && is_shared(process, "root"))
        return std::nullopt;
    return Sysroot::of_directory(open_in(process, "root", O_DIRECTORY),
                                 "/proc/" + std::to_string(process.pid) + "/root");
}

/** @throws Error (BrokenHost) if it has ended, or executed something else since `before` */
void check_is_still(const Process &process, const ProcessIdentity &before)
{
    if (identity_of(process) != before)
        throw Error(ErrorKind::BrokenHost, named(process) + " became another program while it was looked at");
}

/** worker/workercmd of Concourse 8.2: which of its runtimes know hooks. */
void check_runtime(Engine &engine, const std::optional<std::string> &runtime)
{
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

/** @return "" if it is believed */
std::string why_not_believed(const ProcessIdentity &identity)
{
    if (std::string why = why_not_root(identity); !why.empty())
        return why;
    if (file_name_of(identity.executable) != "concourse")
        return "its executable is " + quote(identity.executable);
    if (!identity.why_not_trusted.empty())
        return "its executable " + quote(identity.executable) + " " + identity.why_not_trusted;
    return "";
}

/** The processes that call themselves workers. Nothing is read that one names which is not believed. */
struct Claims {
    std::vector<std::pair<Process, ProcessIdentity>> believed;
    size_t others = 0;
    std::string first; ///< of the others: its number, and why it is taken for none
    bool is_all = true;
};

/** By its command line, or, where it is not root's, by the name that the kernel has of it. */
void add_claim(Claims &claims, Process process)
{
    bool is_claim = false;
    ProcessIdentity identity;
    std::string why;
    try {
        const std::string status = read(process, "status");
        is_claim = value_in(status, "Name:") == "concourse";
        why = why_not_root(owner_of(process, status));
        if (why.empty()) {
            const std::vector<std::string> words = words_of(process);
            is_claim = !words.empty() && is_worker(words);
            identity = is_claim ? identity_of(process) : identity;
            why = is_claim ? why_not_believed(identity) : "";
        }
    } catch (const Error &error) {
        why = error.what();
    }
    if (is_claim && why.empty())
        claims.believed.emplace_back(std::move(process), std::move(identity));
    else if (is_claim && claims.others++ == 0)
        claims.first = "(pid " + std::to_string(process.pid) + ") is taken for none: " + why;
}

Claims find_claims()
{
    Claims claims;
    const UniqueFd proc(::open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!proc.valid())
        return claims;
    auto pids = process_numbers(proc.get(), "'/proc'");
    claims.is_all = pids.size() <= max_processes;
    pids.resize(std::min(pids.size(), max_processes));
    for (const pid_t pid : pids) {
        Process process{pid, UniqueFd(::openat(proc.get(), std::to_string(pid).c_str(),
                                               O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC))};
        if (process.directory.valid())
            add_claim(claims, std::move(process));
        else if (errno != ENOENT)
            throw SystemError(errno, "cannot look at " + named(process), ErrorKind::BrokenHost);
    }
    return claims;
}

/** A note if processes call themselves workers and are not believed. */
Findings check_claims()
{
    Findings findings;
    const Claims claims = find_claims();
    if (!claims.is_all)
        findings.push_back({Severity::Warning,
                            "there are more than " + std::to_string(max_processes) +
                                " processes: a worker with a high number is not seen",
                            "end what starts so many, and run this again"});
    if (claims.others > 0)
        findings.push_back(
            {Severity::Note,
             "a process that is called like a worker " + claims.first +
                 (claims.others > 1 ? "; so are " + std::to_string(claims.others - 1) + " more" : ""),
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
        return {}; // what it is, is said of all the host
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

/** What it names is read, and never run. */
void read_worker(Engine &engine, const Process &process, const ProcessIdentity &identity)
{
    if (auto root = own_root_of(process))
        engine.sysroot = std::make_shared<const Sysroot>(std::move(*root));
    const std::vector<std::string> words = words_of(process);
    const std::vector<std::string> environment = split_at_nul(read(process, "environ"));
    engine.directories_from = "it was started without --containerd-oci-hooks-dir";
    if (const auto directory = worker_setting(words, environment, "containerd-oci-hooks-dir")) {
        engine.directory_paths = {*directory};
        engine.directories_from = "its option --containerd-oci-hooks-dir";
    }
    check_is_still(process, identity);
    read_directories(engine);
    check_runtime(engine, worker_setting(words, environment, "runtime"));
    check_is_still(process, identity);
}

/** Of one that is believed. If it cannot be looked at to its end, nothing is known of it. */
Engine worker_of(const EngineKind &kind, const std::shared_ptr<const Sysroot> &host, const Process &process,
                 const ProcessIdentity &identity)
{
    Engine engine = kind.new_engine(host);
    engine.title = "concourse worker (pid " + std::to_string(process.pid) + ")";
    engine.remedy =
        "start the worker with --containerd-oci-hooks-dir, or CONCOURSE_CONTAINERD_OCI_HOOKS_DIR, "
        "set to one directory with all files";
    Engine read = engine;
    try {
        read_worker(read, process, identity);
        return read;
    } catch (const Error &error) {
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
    const Claims claims = is_this_host(*sysroot) ? find_claims() : Claims();
    for (const auto &[process, identity] : claims.believed)
        workers.push_back(worker_of(kind, sysroot, process, identity));
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
    if (Findings claims = check_claims(); !claims.empty())
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
