// SPDX-License-Identifier: Apache-2.0
#include "engines/concourse.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <linux/capability.h>

#include <algorithm>
#include <array>
#include <functional>
#include <optional>

#include "base/error.h"
#include "base/path_names.h"
#include "base/text.h"
#include "engines/host_process.h"
#include "engines/programs.h"
#include "engines/runtime_wrapper.h"
#include "engines/worker_words.h"

namespace ogh::admin {

namespace {

constexpr const char *usual_place = "/usr/local/concourse/bin/concourse";

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

/** What the worker read when it was started is what it goes by; by the time at which the inode was last changed. */
std::optional<Finding> check_age(const Engine &engine, const std::string &path, std::int64_t started,
                                 const char *what_is_wrong)
{
    constexpr std::int64_t inexact = 1; // second: of the boot time, and of the ticks
    const auto place = engine.sysroot->find(path);
    struct stat status {};
    if (!place || ::fstat(place->fd.get(), &status) != 0 || status.st_ctim.tv_sec <= started + inexact)
        return std::nullopt;
    return Finding{Severity::Error, quote(path) + what_is_wrong, "restart the worker"};
}

void check_ages(Engine &engine, const std::optional<std::int64_t> &started)
{
    if (!started)
        return;
    bool is_told = false;
    for (const HookFolder &folder : engine.folders) {
        for (const HookFile &file : folder.files)
            if (const auto finding = check_age(engine, file.path, *started,
                                               " is newer than the worker, which goes by what it read when "
                                               "it was started")) {
                engine.findings.push_back(*finding);
                is_told = true;
            }
        if (!is_told)
            if (const auto finding =
                    check_age(engine, folder.path, *started,
                              " was changed since the worker was started, which goes on calling "
                              "what it read then"))
                engine.findings.push_back(*finding);
    }
}

Engine new_engine(const std::shared_ptr<const Sysroot> &host, const Process &process)
{
    Engine engine;
    engine.name = "concourse";
    engine.title = "concourse worker (pid " + std::to_string(process.pid()) + ")";
    engine.rules = FolderRules::EveryFile;
    engine.remedy =
        "start the worker with --containerd-oci-hooks-dir, or CONCOURSE_CONTAINERD_OCI_HOOKS_DIR, "
        "set to one folder with all files";
    engine.sysroot = engine.host = host;
    return engine;
}

std::string user_namespace_of_this()
{
    std::array<char, 64> name{};
    const ssize_t length = ::readlink("/proc/self/ns/user", name.data(), name.size());
    return {name.data(), length > 0 ? static_cast<size_t>(length) : 0};
}

/**
 * Anybody can start a process that is called like a worker, in a container too, and choose its command line and its
 * environment. Root of this very user namespace with CAP_SYS_ADMIN, which a container's root has not by default, and
 * with a program that only root may change, is root anyway.
 * @return "" if it is believed
 */
std::string why_not_believed(const ProcessIdentity &identity)
{
    if (identity.user_namespace != user_namespace_of_this())
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

/** Of one that is believed. What it names is read, and never run. */
Engine read_worker(const std::shared_ptr<const Sysroot> &host, const Process &process,
                   const ProcessIdentity &identity)
{
    Engine engine = new_engine(host, process);
    if (auto root = process.own_root())
        engine.sysroot = std::make_shared<const Sysroot>(std::move(*root));
    const WorkerSettings settings(process.words().value_or(std::vector<std::string>{"concourse"}),
                                  process.environment());
    engine.folders_from = "it was started without --containerd-oci-hooks-dir";
    if (const auto folder = settings.value("containerd-oci-hooks-dir", "CONTAINERD_OCI_HOOKS_DIR")) {
        engine.folder_paths = {*folder};
        engine.folders_from = "its option --containerd-oci-hooks-dir";
    }
    process.check_is_still(identity);
    read_folders(engine);
    check_runtime(engine, settings);
    check_ages(engine, unix_time_of(identity.start_ticks));
    if (const auto finding =
            check_runtime_program(*engine.sysroot, path_in(folder_of(identity.executable), "runc")))
        engine.findings.push_back(*finding);
    process.check_is_still(identity);
    return engine;
}

/** One that could not be looked at to its end: nothing is known of it, and it is not taken for what it is not. */
Engine unknown_worker(const std::shared_ptr<const Sysroot> &host, const Process &process,
                      const std::string &why)
{
    Engine engine = new_engine(host, process);
    engine.folders_from = "it could not be looked at";
    engine.is_stopped = true;
    engine.findings.push_back({Severity::Error, why, "run this again, as root"});
    return engine;
}

/** Those that call themselves workers, with why they are not believed. @return whether that is all of them */
bool visit_claims(
    const std::function<void(const Process &, const ProcessIdentity &, const std::string &)> &visit)
{
    return visit_processes([&](const Process &process) {
        const auto words = process.is_called("concourse") ? process.words() : std::nullopt;
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

} // namespace

std::vector<Engine> find_concourse(const std::shared_ptr<const Sysroot> &sysroot)
{
    std::vector<Engine> workers;
    if (!is_this_host(*sysroot))
        return workers;
    visit_claims([&](const Process &process, const ProcessIdentity &identity, const std::string &why) {
        if (!why.empty())
            return;
        try {
            workers.push_back(read_worker(sysroot, process, identity));
        } catch (const Error &error) {
            workers.push_back(unknown_worker(sysroot, process, error.what()));
        }
    });
    return workers;
}

Findings claimed_workers(const Sysroot &sysroot)
{
    constexpr size_t max_shown = 8;
    Findings findings;
    if (!is_this_host(sysroot))
        return findings;
    size_t count = 0;
    const auto claim = [&](const Process &process, const ProcessIdentity & /*identity*/,
                           const std::string &why) {
        if (!why.empty() && ++count <= max_shown)
            findings.push_back({Severity::Note,
                                "a process that calls itself a worker (pid " + std::to_string(process.pid()) +
                                    ") is taken for none: " + why,
                                ::geteuid() == 0 ? "" : "run this as root, which may look at it"});
    };
    if (!visit_claims(claim))
        findings.push_back({Severity::Warning,
                            "there are more than " + std::to_string(max_processes) +
                                " processes: a worker with a high number is not seen",
                            "end what starts so many, and run this again"});
    if (count > max_shown)
        findings.push_back({Severity::Note,
                            std::to_string(count - max_shown) + " more processes call themselves workers",
                            ""});
    return findings;
}

bool is_concourse_installed(const Sysroot &sysroot)
{
    return sysroot.find(usual_place) || find_program(sysroot, "concourse");
}

} // namespace ogh::admin
