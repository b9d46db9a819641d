// SPDX-License-Identifier: Apache-2.0
#include "doctor/check_executable.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "build_config.h"
#include "host/root_alone.h"
#include "kernel/proc_fs.h"

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

/** @param fd O_PATH, of a file that only root may change */
std::string bytes_of(int fd, const std::string &shown)
{
    constexpr size_t most = size_t{1} << 28U;
    const UniqueFd file = ProcFs().reopen(fd, O_RDONLY | O_NONBLOCK | O_NOCTTY, shown);
    return read_all(file.get(), most, shown);
}

/**
 * The version that a hook says of itself in a note, VersionNote in common/hook/hook.cpp; nothing of what is no hook. It
 * is read, and not run.
 */
std::optional<std::string> version_of(const std::string &bytes)
{
    constexpr std::string_view note("\1\0\0\0oci-gpu-hooks\0\0\0", 20); // type and name
    const size_t found = bytes.find(note);
    if (found == std::string::npos)
        return std::nullopt;
    const size_t version = found + note.size();
    return bytes.substr(version, bytes.find('\0', version) - version);
}

/** The machine of an ELF file's header; 0 of what is none. */
unsigned machine_of(std::string_view bytes)
{
    constexpr size_t at = 18; // e_machine, elf(5): two bytes, the lower one first where these hooks are built
    if (bytes.size() < at + 2 || !bytes.starts_with("\x7f"
                                                    "ELF"))
        return 0;
    return static_cast<unsigned char>(bytes[at]) + 256U * static_cast<unsigned char>(bytes[at + 1]);
}

std::string machine_text(unsigned machine)
{
    for (const auto &[number, name] : {std::pair{EM_X86_64, "x86-64"},
                                       {EM_AARCH64, "aarch64"},
                                       {EM_386, "i386"},
                                       {EM_ARM, "arm"},
                                       {EM_PPC64, "ppc64"},
                                       {EM_RISCV, "riscv"},
                                       {EM_S390, "s390x"}})
        if (machine == static_cast<unsigned>(number))
            return name;
    return "a machine of the number " + std::to_string(machine);
}

unsigned own_machine()
{
    const UniqueFd self(::open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
    std::array<char, EI_NIDENT + 4> begin{};
    const ssize_t length = ::pread(self.get(), begin.data(), begin.size(), 0);
    return machine_of({begin.data(), length > 0 ? static_cast<size_t>(length) : 0});
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

/** Of which machine and version it is. */
std::optional<Finding> check_content(const std::string &bytes, const std::string &shown)
{
    const unsigned machine = machine_of(bytes);
    if (machine != 0 && machine != own_machine())
        return Finding{Severity::Error,
                       shown + " is for " + machine_text(machine) + ", and this host is " +
                           machine_text(own_machine()),
                       "install the package that is made for this machine"};
    const auto version = version_of(bytes);
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
        for (const auto &finding : {check_content(bytes_of(place->fd.get(), shown), shown),
                                    check_running(file, place->fd.get(), shown)})
            if (finding)
                findings.push_back(*finding);
        return findings;
    } catch (const Error &error) {
        return {{Severity::Error, error.what(), "install the hooks again"}};
    }
}

} // namespace ogh::admin
