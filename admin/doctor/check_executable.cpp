// SPDX-License-Identifier: Apache-2.0
#include "doctor/check_executable.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "base/text.h"
#include "build_config.h"
#include "host/root_alone.h"
#include "kernel/proc_fs.h"
#include "loader/elf_file.h"

namespace ogh::admin {

namespace {

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

} // namespace

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

} // namespace ogh::admin
