// SPDX-License-Identifier: Apache-2.0
#include "engines/trial.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <set>
#include <span>
#include <thread>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "base/unique_fd.h"
#include "engines/installed_hooks.h"

namespace ogh::admin {

namespace {

using nlohmann::json;
using Annotations = std::map<std::string, std::string>;

constexpr std::chrono::seconds start_limit{90};

/** Taking away what lies below a mount would be taking away what is somebody else's. */
bool has_mounts(const std::string &directory)
{
    constexpr size_t max_table = size_t{1} << 26U;
    const UniqueFd table(::open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC));
    return !table.valid() ||
           read_all(table.get(), max_table, "the mount table").find(" " + directory + "/") !=
               std::string::npos;
}

/**
 * podman takes its containers away in processes that it leaves behind. They are this process's children, see the
 * constructor of TrialDirectory.
 */
void wait_for_orphans()
{
    constexpr int tries = 300;
    constexpr std::chrono::milliseconds pause{50};
    for (int i = 0; i < tries; ++i) {
        const pid_t ended = ::waitpid(-1, nullptr, WNOHANG);
        if (ended < 0 && errno != EINTR)
            return; // there is none
        if (ended == 0)
            std::this_thread::sleep_for(pause);
    }
}

/**
 * A directory of this process's own with the root of a container, `rootfs`, in which /probe is this very program; it goes
 * with the object, unless something is still mounted below it.
 */
class TrialDirectory final {
public:
    TrialDirectory()
    {
        if (::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0)
            throw SystemError(errno, "cannot become the parent of what engines leave behind (prctl)");
        if (::mkdtemp(path_.data()) == nullptr)
            throw SystemError(errno, "cannot make a directory in /tmp");
        try {
            const ::mode_t mask = ::umask(0022);
            for (const char *const name : {"dev", "etc", "proc", "run", "srv", "sys", "tmp"})
                std::filesystem::create_directories(path_ + "/rootfs/" + name);
            const std::string probe = path_ + "/rootfs/probe";
            std::filesystem::copy_file("/proc/self/exe", probe);
            std::filesystem::permissions(probe, static_cast<std::filesystem::perms>(0755));
            ::umask(mask);
        } catch (...) {
            std::error_code ignored;
            std::filesystem::remove_all(path_, ignored);
            throw;
        }
    }
    TrialDirectory(const TrialDirectory &) = delete;
    TrialDirectory &operator=(const TrialDirectory &) = delete;
    ~TrialDirectory()
    {
        std::error_code ignored;
        try {
            wait_for_orphans();
            if (!has_mounts(path_))
                std::filesystem::remove_all(path_, ignored);
        } catch (const Error &) {
            return; // it stays
        }
    }

    [[nodiscard]] const std::string &path() const { return path_; }

private:
    std::string path_ = "/tmp/oci-gpu-hooks-try.XXXXXX";
};

/** Runs the engine with these words, and then with those that take away whatever it has left, which say what they will. */
ProgramOutput run_and_clean(const TrialEngine &engine, const std::vector<std::string> &base,
                            const std::vector<std::string> &run, const std::vector<std::string> &clean)
{
    std::vector<std::string> words = base;
    words.insert(words.end(), run.begin(), run.end());
    ProgramOutput output = run_program(engine.program, words, start_limit);
    words = base;
    words.insert(words.end(), clean.begin(), clean.end());
    run_program(engine.program, words, start_limit);
    return output;
}

ProgramOutput run_podman(const TrialEngine &engine, const std::string &directory,
                         const Annotations &annotations)
{
    std::vector<std::string> words{"run", "--rm", "--network", "none", "--log-driver", "none"};
    for (const auto &[key, value] : annotations)
        words.insert(words.end(), {"--annotation", std::string(key).append("=").append(value)});
    words.insert(words.end(), {"--rootfs", directory + "/rootfs", "/probe", "--probe"});
    return run_and_clean(engine,
                         {engine.kind->name, "--root", directory + "/root", "--runroot", directory + "/run",
                          "--tmpdir", directory + "/tmp", "--storage-driver", "vfs", "--events-backend",
                          "file"},
                         words, {"rm", "--all", "--force", "--time", "0"});
}

/** The least that a runtime takes. */
constexpr const char *least_config = R"({
    "ociVersion": "1.0.2",
    "process": {
        "terminal": false, "user": {"uid": 0, "gid": 0}, "args": ["/probe", "--probe"], "env": ["PATH=/"],
        "cwd": "/", "noNewPrivileges": true
    },
    "hostname": "trial",
    "mounts": [
        {"destination": "/proc", "type": "proc", "source": "proc"},
        {"destination": "/dev", "type": "tmpfs", "source": "tmpfs", "options": ["nosuid", "mode=755"]},
        {"destination": "/sys", "type": "sysfs", "source": "sysfs", "options": ["nosuid", "noexec", "nodev", "ro"]}
    ],
    "linux": {
        "namespaces": [{"type": "pid"}, {"type": "ipc"}, {"type": "uts"}, {"type": "mount"}, {"type": "network"}],
        "resources": {"devices": [{"allow": false, "access": "rwm"}]}
    }
})";

json config(const TrialEngine &engine, const std::string &directory, const Annotations &annotations)
{
    json document = json::parse(least_config);
    document["root"] = {{"path", directory + "/rootfs"}, {"readonly", false}};
    document["annotations"] = annotations;
    json &entries = document["hooks"]["createRuntime"] = json::array();
    for (const InstalledHook &hook : engine.hooks) {
        std::vector<std::string> args = hook.options;
        args.insert(args.begin(), std::string(hook.hook->name));
        entries.push_back({{"path", open_own_hook(*hook.hook).path},
                           {"args", args},
                           {"env", {"PATH=/usr/sbin:/usr/bin:/sbin:/bin"}}});
    }
    return document;
}

ProgramOutput run_runtime(const TrialEngine &engine, const std::string &directory,
                          const Annotations &annotations)
{
    const std::string path = directory + "/config.json";
    const UniqueFd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    if (!file.valid())
        throw SystemError(errno, "cannot make " + quote(path));
    write_all(file.get(), config(engine, directory, annotations).dump(), path);
    const std::string id = "oci-gpu-hooks-try-" + std::to_string(::getpid());
    return run_and_clean(engine, {engine.kind->name, "--root", directory + "/state"},
                         {"run", "--bundle", directory, id}, {"delete", "--force", id});
}

std::set<std::filesystem::directory_entry> entries_of(const char *directory)
{
    std::error_code none; // there need not be such a directory
    std::filesystem::directory_iterator all(directory, none);
    return {begin(all), end(all)};
}

/** An instance of a GPU has nodes that root may only read. */
std::string opens(const std::string &path)
{
    constexpr int flags = O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
    UniqueFd fd(::open(path.c_str(), O_RDWR | flags));
    if (!fd.valid() && errno == EACCES)
        fd = UniqueFd(::open(path.c_str(), O_RDONLY | flags));
    return fd.valid() ? "can be opened" : std::string(cannot_be_opened) + std::strerror(errno);
}

} // namespace

SignalsWait::SignalsWait()
{
    sigset_t set{};
    ::sigemptyset(&set);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP})
        ::sigaddset(&set, signal);
    ::sigprocmask(SIG_BLOCK, &set, &before_);
}

SignalsWait::~SignalsWait()
{
    ::sigprocmask(SIG_SETMASK, &before_, nullptr);
}

bool SignalsWait::is_one_waiting()
{
    sigset_t waiting{};
    ::sigpending(&waiting);
    return ::sigismember(&waiting, SIGINT) == 1 || ::sigismember(&waiting, SIGTERM) == 1 ||
           ::sigismember(&waiting, SIGHUP) == 1;
}

std::span<const TrialKind> trial_kinds()
{
    static constexpr std::array kinds{TrialKind{"podman", run_podman}, TrialKind{"runc", run_runtime},
                                      TrialKind{"crun", run_runtime}};
    return kinds;
}

ProgramOutput start_trial(const TrialEngine &engine, const Annotations &annotations)
{
    const TrialDirectory directory;
    return engine.kind->start(engine, directory.path(), annotations);
}

std::string probe()
{
    std::string text;
    for (const auto &entry : entries_of("/srv"))
        text += printable(entry.path().string()) + "\n";
    for (const char *const directory : {"/dev", "/dev/nvidia-caps", "/dev/dri"})
        for (const auto &entry : entries_of(directory)) {
            const std::string path = entry.path().string();
            const bool is_of_gpu =
                path.starts_with("/dev/nvidia") || path == "/dev/kfd" || path.starts_with("/dev/dri/");
            if (is_of_gpu && entry.symlink_status().type() == std::filesystem::file_type::character)
                text += printable(path) + " " + opens(path) + "\n";
        }
    return text;
}

} // namespace ogh::admin
