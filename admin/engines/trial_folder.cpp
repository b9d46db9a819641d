// SPDX-License-Identifier: Apache-2.0
#include "engines/trial_folder.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include "base/error.h"
#include "base/file.h"
#include "base/unique_fd.h"

namespace ogh::admin {

namespace {

/** Taking away what lies below a mount would be taking away what is somebody else's. */
bool has_mounts(const std::string &folder)
{
    constexpr size_t max_table = size_t{1} << 26U;
    const UniqueFd table(::open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC));
    return !table.valid() ||
           read_all(table.get(), max_table, "the mount table").find(" " + folder + "/") != std::string::npos;
}

/**
 * podman takes its containers away in processes that it leaves behind. They are this process's children, see the
 * constructor of TrialFolder.
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

TrialFolder::TrialFolder() : path_("/tmp/oci-gpu-hooks-try.XXXXXX")
{
    if (::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0)
        throw SystemError(errno, "cannot become the parent of what engines leave behind (prctl)");
    if (::mkdtemp(path_.data()) == nullptr)
        throw SystemError(errno, "cannot make a folder in /tmp");
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

TrialFolder::~TrialFolder()
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

} // namespace ogh::admin
