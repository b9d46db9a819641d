// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <unistd.h>
#include <linux/capability.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <set>

#include "base/contains.h"
#include "base/error.h"
#include "base/file.h"
#include "base/path_names.h"
#include "base/text.h"
#include "engines/engine.h"
#include "engines/host_process.h"
#include "engines/worker_words.h"
#include "registration/manifest.h"

namespace ogh::admin {

namespace {

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

class Concourse final : public EngineKind {
public:
    Concourse() : EngineKind("concourse", "concourse", Way::OneDirectory) {}

    [[nodiscard]] bool is_installed(const Sysroot &sysroot) const override
    {
        const auto directories = program_directories();
        return EngineKind::is_installed(sysroot) ||
               std::any_of(directories.begin(), directories.end(),
                           [&](const char *directory) { return sysroot.find(path_in(directory, name())); });
    }

    [[nodiscard]] std::vector<const char *> program_directories() const override
    {
        return {"/var/lib/concourse/bin", "/usr/local/concourse/bin", "/opt/concourse/bin"};
    }

    [[nodiscard]] std::string own_directory() const override
    {
        return "/etc/oci-gpu-hooks/concourse-hooks.d";
    }

    /**
     * The workers that run on this host, each with its directory of hooks, as it sees that: it may have a root of its own.
     * Whoever is not root of this user namespace is not believed to be one. Without one, and on another host (--sysroot),
     * the directories that were written for workers.
     */
    [[nodiscard]] std::vector<Engine> find(const std::shared_ptr<const Sysroot> &sysroot) const override
    {
        std::vector<Engine> workers;
        if (is_this_host(*sysroot))
            visit_claims(
                [&](const Process &process, const ProcessIdentity &identity, const std::string &why) {
                    if (why.empty())
                        workers.push_back(read_or_say_why(sysroot, process, identity));
                });
        return workers.empty() ? find_written(sysroot) : workers;
    }

    [[nodiscard]] std::vector<Section> notes(const Sysroot &sysroot, bool is_found) const override
    {
        std::vector<Section> sections;
        if (!is_this_host(sysroot))
            return sections;
        if (!is_found && is_installed(sysroot))
            sections.push_back(
                {name(),
                 {{Severity::Note, "it is installed, and no worker of it runs",
                   "start the worker: which directory of hooks it reads is known only then"}}});
        if (Findings claims = find_claims(); !claims.empty())
            sections.push_back({"processes", std::move(claims)});
        return sections;
    }

    [[nodiscard]] std::vector<std::string> left_to_do(const std::string &directory) const override
    {
        return {"set in the worker's unit, below [Service], as in "
                "/etc/systemd/system/concourse-worker.service.d/oci-gpu-hooks.conf:\n"
                "    Environment=CONCOURSE_RUNTIME=containerd\n"
                "    Environment=CONCOURSE_CONTAINERD_OCI_HOOKS_DIR=" +
                    printable(directory),
                "the worker reads the directory when it starts: "
                "systemctl daemon-reload && systemctl restart concourse-worker"};
    }

private:
    /** Where no worker runs, what `install` has written for one: that is what its containers will get. */
    [[nodiscard]] std::vector<Engine> find_written(const std::shared_ptr<const Sysroot> &sysroot) const
    {
        std::set<std::string> directories;
        try {
            for (const InstalledFile &file : Manifest::read(*sysroot).files)
                if (contains(file.engines, name()) && sysroot->find(file.path))
                    directories.insert(directory_of(file.path));
        } catch (const Error &) {
            return {}; // the doctor says why
        }
        std::vector<Engine> engines;
        for (const std::string &directory : directories) {
            engines.push_back(new_engine(sysroot));
            Engine &engine = engines.back();
            engine.title = name() + " (no worker runs)";
            engine.directory_paths = {directory};
            engine.directories_from = "'install' has written for it";
            engine.findings.push_back(
                {Severity::Note, "whether a worker reads this directory is known only when it runs", ""});
            read_directories(engine);
        }
        return engines;
    }

    [[nodiscard]] Engine new_worker(const std::shared_ptr<const Sysroot> &host, const Process &process) const
    {
        Engine engine = new_engine(host);
        engine.title = "concourse worker (pid " + std::to_string(process.pid()) + ")";
        engine.remedy =
            "start the worker with --containerd-oci-hooks-dir, or CONCOURSE_CONTAINERD_OCI_HOOKS_DIR, "
            "set to one directory with all files";
        return engine;
    }

    /** Of one that is believed. What it names is read, and never run. */
    [[nodiscard]] Engine read_worker(const std::shared_ptr<const Sysroot> &host, const Process &process,
                                     const ProcessIdentity &identity) const
    {
        Engine engine = new_worker(host, process);
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
    [[nodiscard]] Engine read_or_say_why(const std::shared_ptr<const Sysroot> &host, const Process &process,
                                         const ProcessIdentity &identity) const
    {
        try {
            return read_worker(host, process, identity);
        } catch (const Error &error) {
            Engine engine = new_worker(host, process);
            engine.directories_from = "it could not be looked at";
            engine.is_stopped = true;
            engine.findings.push_back({Severity::Error, error.what(), "run this again, as root"});
            return engine;
        }
    }
};

} // namespace

const EngineKind &concourse_kind()
{
    static const Concourse kind;
    return kind;
}

} // namespace ogh::admin
