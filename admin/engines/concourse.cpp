// SPDX-License-Identifier: Apache-2.0
#include "engines/concourse.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <map>
#include <optional>

#include "base/error.h"
#include "base/text.h"
#include "engines/programs.h"
#include "engines/running_programs.h"
#include "engines/runtime_wrapper.h"
#include "registration/path_names.h"

namespace ogh::admin {

namespace {

constexpr const char *usual_place = "/usr/local/concourse/bin/concourse";

bool has_word(const std::vector<std::string> &words, const char *word)
{
    return std::find(words.begin() + 1, words.end(), word) != words.end();
}

bool is_worker(const std::vector<std::string> &words)
{
    return name_of(words.front()) == "concourse" &&
           (has_word(words, "worker") || has_word(words, "quickstart"));
}

/** How a worker was told what: options win over the environment, and quickstart has a prefix of its own for both. */
class Settings final {
public:
    Settings(const Sysroot &sysroot, const RunningProgram &program)
        : words_(program.words), environment_(environment_of(sysroot, program.pid)),
          is_quickstart_(!has_word(words_, "worker"))
    {
    }

    /** @param flag "runtime" @param variable "RUNTIME" */
    [[nodiscard]] std::optional<std::string> value(const std::string &flag, const std::string &variable) const
    {
        const std::string option = "--" + std::string(is_quickstart_ ? "worker-" : "") + flag;
        std::optional<std::string> found;
        for (size_t i = 1; i < words_.size(); ++i) {
            if (words_[i] == option && i + 1 < words_.size())
                found = words_[++i];
            else if (words_[i].starts_with(option + "="))
                found = words_[i].substr(option.size() + 1);
        }
        if (found)
            return found;
        const auto setting =
            environment_.find("CONCOURSE_" + std::string(is_quickstart_ ? "WORKER_" : "") + variable);
        return setting == environment_.end() || setting->second.empty() ? std::nullopt
                                                                        : std::optional(setting->second);
    }

private:
    const std::vector<std::string> &words_;
    std::map<std::string, std::string> environment_;
    bool is_quickstart_;
};

/** worker/workercmd of Concourse 8.2: which of its runtimes know hooks. */
void check_runtime(Engine &engine, const Settings &settings)
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

Engine read_worker(const std::shared_ptr<const Sysroot> &sysroot, const RunningProgram &program)
{
    Engine engine;
    engine.name = "concourse";
    engine.title = "concourse worker (pid " + std::to_string(program.pid) + ")";
    engine.rules = FolderRules::EveryFile;
    engine.remedy =
        "start the worker with --containerd-oci-hooks-dir, or CONCOURSE_CONTAINERD_OCI_HOOKS_DIR, "
        "set to one folder with all files";
    engine.host = engine.sysroot = sysroot;
    if (!shares_root(*sysroot, program.pid))
        if (auto root = Sysroot::of_process(*sysroot, program.pid))
            engine.sysroot = std::make_shared<const Sysroot>(std::move(*root));
    const Settings settings(*sysroot, program);
    engine.folders_from = "it was started without --containerd-oci-hooks-dir";
    if (const auto folder = settings.value("containerd-oci-hooks-dir", "CONTAINERD_OCI_HOOKS_DIR")) {
        engine.folder_paths = {*folder};
        engine.folders_from = "its option --containerd-oci-hooks-dir";
    }
    read_folders(engine);
    check_runtime(engine, settings);
    check_ages(engine, started_at(*sysroot, program.pid));
    if (const auto executable = executable_of(*sysroot, program.pid))
        if (const auto finding = check_runtime_program(
                *engine.sysroot, executable->substr(0, executable->rfind('/')) + "/runc"))
            engine.findings.push_back(*finding);
    return engine;
}

} // namespace

std::vector<Engine> find_concourse(const std::shared_ptr<const Sysroot> &sysroot)
{
    std::vector<Engine> workers;
    for (const RunningProgram &program : running_programs(*sysroot, is_worker)) {
        try {
            workers.push_back(read_worker(sysroot, program));
        } catch (const Error &error) {
            Engine engine;
            engine.name = "concourse";
            engine.title = "concourse worker (pid " + std::to_string(program.pid) + ")";
            engine.rules = FolderRules::EveryFile;
            engine.sysroot = engine.host = sysroot;
            engine.findings.push_back({Severity::Error, error.what(),
                                       "run this as root, where the worker's processes can be seen"});
            workers.push_back(std::move(engine));
        }
    }
    return workers;
}

bool is_concourse_installed(const Sysroot &sysroot)
{
    return sysroot.find(usual_place) || find_program(sysroot, "concourse");
}

} // namespace ogh::admin
