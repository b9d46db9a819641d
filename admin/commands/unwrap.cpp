// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/file.h"
#include "base/path_names.h"
#include "base/text.h"
#include "commands/command.h"
#include "engines/engine.h"
#include "engines/programs.h"
#include "host/host_file.h"
#include "host/sysroot.h"
#include "host/trusted_path.h"
#include "install/root_files.h"
#include "kernel/openat2.h"

namespace ogh::admin {

namespace {

/** What stands under a name. */
struct RuntimeFile {
    enum class Kind : std::uint8_t { Absent, Program, Script, Link, Other };

    Kind kind;
    std::string words; ///< what that is: "is a script", "is a symlink to '/opt/bin/runc-wrapper'"
};

using Kind = RuntimeFile::Kind;

constexpr std::array vendors_runtimes = {"nvidia-container-runtime", "nvidia-container-runtime.real",
                                         "amd-container-runtime"};

constexpr size_t max_runtime = size_t{64} << 20U;

/** Opens a plain file for reading. */
UniqueFd open_runtime(const Sysroot &sysroot, const std::string &path)
{
    const auto directory = sysroot.find(directory_of(path));
    if (!directory)
        throw SystemError(ENOENT, "cannot open " + quote(path));
    return open_path(directory->fd.get(), file_name_of(path), O_RDONLY | O_NONBLOCK, Walk::Beneath,
                     quote(path));
}

RuntimeFile look_at_content(int fd, const std::string &path)
{
    constexpr std::string_view elf_magic("\x7f"
                                         "ELF");
    std::array<char, elf_magic.size()> bytes{};
    const ssize_t length = ::pread(fd, bytes.data(), bytes.size(), 0);
    if (length < 0)
        throw SystemError(errno, "cannot read " + quote(path));
    const std::string_view begin(bytes.data(), static_cast<size_t>(length));
    if (begin == elf_magic)
        return {Kind::Program, "is a program"};
    if (begin.starts_with("#!"))
        return {Kind::Script, "is a script"};
    return {Kind::Other, "is neither a program nor a script"};
}

/** @param path absolute; a symlink at its end is not followed. @throws Error */
RuntimeFile look_at_runtime(const Sysroot &sysroot, const std::string &path)
{
    RuntimeFile absent{Kind::Absent, "is not there"};
    const auto directory = sysroot.find(directory_of(path));
    if (!directory)
        return absent;
    const std::string name = file_name_of(path);
    struct stat status {};
    if (::fstatat(directory->fd.get(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) {
        if (errno == ENOENT)
            return absent;
        throw SystemError(errno, "cannot look at " + quote(path));
    }
    if (S_ISLNK(status.st_mode))
        return {Kind::Link, "is a symlink to " + quote(read_link(directory->fd.get(), name, quote(path)))};
    if (!S_ISREG(status.st_mode))
        return {Kind::Other, "is neither a program nor a script"};
    return look_at_content(open_runtime(sysroot, path).get(), path);
}

/** What is in a plain file, up to 64 MiB. @param path without any symlink. @throws Error */
std::string read_runtime(const Sysroot &sysroot, const std::string &path)
{
    return read_all(open_runtime(sysroot, path).get(), max_runtime, quote(path));
}

/**
 * NVIDIA's or AMD's own runtime, which changes what containers are given and then calls runc.
 * @param path of a program, without any symlink
 * @return where that lies which the program is, or is a copy of. @throws Error
 */
std::optional<std::string> find_vendors_runtime(const Sysroot &sysroot, const std::string &path)
{
    const std::string text = read_runtime(sysroot, path);
    for (const char *const name : vendors_runtimes)
        for (const char *const directory : program_directories()) {
            const auto place = sysroot.find(path_in(directory, name));
            if (place && look_at_runtime(sysroot, place->path).kind == Kind::Program &&
                read_runtime(sysroot, place->path) == text)
                return place->path;
        }
    return std::nullopt;
}

constexpr const char *wrappers_directory = "/opt/bin"; // of the Juju charm concourse-ci-machine
// What dpkg writes down of the packages that bring runc.
constexpr std::array package_lists = {"/var/lib/dpkg/info/runc.list",
                                      "/var/lib/dpkg/info/containerd.io.list"};

/** A place where a wrapper stands, and which runc is put back there. */
struct Restoration {
    std::string path;   ///< without a symlink on the way
    std::string found;  ///< what is there now: "is a symlink to '/opt/bin/runc-wrapper'"
    std::string source; ///< where runc was moved to
    std::string kept;   ///< the second name that a script in this place gets first; "" where there is none
};

/** What is to be done about wrappers of runc on a host. */
struct UnwrapPlan {
    std::vector<Restoration> restorations;
    std::vector<std::string> copies;  ///< of runc, where wrappers have it: they are left
    std::vector<std::string> refused; ///< sentences: what is wrapped, and why nothing is put back there
};

/** A directory in which runc is looked for by its name. */
struct RuntimeDirectory {
    enum class Owner : std::uint8_t { Host, Wrapper, Engine };

    std::string path; ///< without any symlink
    Owner owner;

    [[nodiscard]] std::string runc() const { return path + "/runc"; }
    [[nodiscard]] std::string moved() const { return path + "/runc.real"; }
};

using Directories = std::vector<RuntimeDirectory>;

void add_directory(const Sysroot &sysroot, const char *path, RuntimeDirectory::Owner owner,
                   Directories &directories)
{
    const auto place = sysroot.find(path);
    if (place && std::none_of(directories.begin(), directories.end(), [&](const RuntimeDirectory &directory) {
            return directory.path == place->path;
        }))
        directories.push_back({place->path, owner});
}

Directories find_directories(const Sysroot &sysroot)
{
    Directories directories;
    for (const char *const path : program_directories())
        add_directory(sysroot, path, RuntimeDirectory::Owner::Host, directories);
    add_directory(sysroot, wrappers_directory, RuntimeDirectory::Owner::Wrapper, directories);
    for (const EngineKind *const kind : engine_kinds())
        for (const char *const path : kind->program_directories)
            add_directory(sysroot, path, RuntimeDirectory::Owner::Engine, directories);
    return directories;
}

bool is_there(const Sysroot &sysroot, const std::string &path)
{
    return look_at_runtime(sysroot, path).kind != Kind::Absent;
}

/** Of a program that is called runc.real: why it is not taken for runc; "" if it is. */
std::string why_no_runc(const Sysroot &sysroot, const std::string &path)
{
    const RuntimeFile file = look_at_runtime(sysroot, path);
    if (file.kind != Kind::Program)
        return quote(path) + " " + file.words;
    if (const auto vendors = find_vendors_runtime(sysroot, path))
        return quote(path) + " is a copy of " + quote(*vendors);
    return "";
}

/** What runc could be that belongs into a directory. The wrapper's own directory has no runc of its own. */
std::vector<std::string> candidates_for(const RuntimeDirectory &wanted, const Sysroot &sysroot,
                                        const Directories &directories)
{
    std::vector<std::string> found;
    for (const RuntimeDirectory &directory : directories) {
        const bool may_be = directory.path == wanted.path ||
                            directory.owner != RuntimeDirectory::Owner::Engine ||
                            wanted.owner == RuntimeDirectory::Owner::Wrapper;
        if (may_be && is_there(sysroot, directory.moved()))
            found.push_back(directory.moved());
    }
    return found;
}

/** @throws Error (BrokenHost) if it is not certain which one it is */
std::string choose_runc(const RuntimeDirectory &wanted, const Sysroot &sysroot,
                        const Directories &directories)
{
    std::string chosen;
    std::string reasons;
    for (const std::string &path : candidates_for(wanted, sysroot, directories)) {
        if (const std::string why = why_no_runc(sysroot, path); !why.empty()) {
            reasons += ", " + why;
            continue;
        }
        static_cast<void>(find_trusted(sysroot, path, ::geteuid()));
        if (chosen.empty())
            chosen = path;
        else if (read_runtime(sysroot, chosen) != read_runtime(sysroot, path))
            throw Error(ErrorKind::BrokenHost,
                        quote(chosen) + " and " + quote(path) +
                            " differ, and either may be the one: move away what is not");
    }
    if (chosen.empty())
        throw Error(ErrorKind::BrokenHost, "there is no runc.real that could be it" + reasons +
                                               "; take it from Concourse's release, or from its package");
    return chosen;
}

/** Whether something else than runc stands there. @throws Error (BrokenHost) if that is not certain */
bool is_wrapped(const Sysroot &sysroot, const std::string &path, const RuntimeFile &file)
{
    const auto end = sysroot.find(path);
    if (!end)
        return file.kind == Kind::Link;
    const Kind kind = look_at_runtime(sysroot, end->path).kind;
    if (kind == Kind::Other)
        throw Error(ErrorKind::BrokenHost, "it is not known what " + quote(end->path) + " is");
    return kind == Kind::Script ||
           (kind == Kind::Program && find_vendors_runtime(sysroot, end->path).has_value());
}

/** A script is of somebody's hand: it stays, by a name that nothing looks for. */
std::string name_to_keep(const Sysroot &sysroot, const std::string &path, const RuntimeFile &file)
{
    if (file.kind != Kind::Script)
        return "";
    std::string kept = path + ".wrapper";
    const RuntimeFile there = look_at_runtime(sysroot, kept);
    if (there.kind != Kind::Absent &&
        (there.kind != Kind::Script || read_runtime(sysroot, path) != read_runtime(sysroot, kept)))
        throw Error(ErrorKind::BrokenHost,
                    quote(kept) + ", as which the script would be kept, is there already");
    return kept;
}

Restoration plan_restoration(const RuntimeDirectory &directory, const RuntimeFile &file,
                             const Sysroot &sysroot, const Directories &directories)
{
    const auto place = find_trusted(sysroot, directory.path, ::geteuid());
    if (const std::string why = place ? why_others_may_add(place->fd.get(), ::geteuid()) : ""; !why.empty())
        throw Error(ErrorKind::BrokenHost, quote(directory.path) + " " + why);
    const auto vendors =
        file.kind == Kind::Program ? find_vendors_runtime(sysroot, directory.runc()) : std::nullopt;
    return {directory.runc(), vendors ? "is a copy of " + quote(*vendors) : file.words,
            choose_runc(directory, sysroot, directories), name_to_keep(sysroot, directory.runc(), file)};
}

bool is_hosts(const RuntimeDirectory &directory)
{
    return directory.owner == RuntimeDirectory::Owner::Host;
}

/** The directory into which a package has put runc. */
const RuntimeDirectory *find_packaged(const Sysroot &sysroot, const Directories &directories)
{
    constexpr size_t max_list = size_t{1} << 20U;
    for (const char *const list : package_lists) {
        const auto text = read_host_file(sysroot, list, max_list);
        for (const std::string &line : split_list(text.value_or(""), '\n')) {
            if (!line.starts_with('/') || file_name_of(line) != "runc")
                continue;
            const auto place = sysroot.find(directory_of(line));
            const auto found =
                std::find_if(directories.begin(), directories.end(), [&](const RuntimeDirectory &directory) {
                    return is_hosts(directory) && place && directory.path == place->path;
                });
            if (found != directories.end())
                return &*found;
        }
    }
    return nullptr;
}

/**
 * Where the host's runc is missing, without a link in its place. A copy of Concourse's own in /opt/bin is no sign that
 * there was one: then a package has to say so.
 */
const RuntimeDirectory *find_emptied(const Sysroot &sysroot, const Directories &directories)
{
    const RuntimeDirectory *emptied = nullptr;
    bool has_copy = false;
    bool engine_has_it = false;
    for (const RuntimeDirectory &directory : directories) {
        const bool has_moved = is_there(sysroot, directory.moved());
        const bool has_runc = is_there(sysroot, directory.runc());
        if (is_hosts(directory) && has_runc)
            return nullptr;
        engine_has_it |= directory.owner == RuntimeDirectory::Owner::Engine && (has_moved || has_runc);
        has_copy |= directory.owner != RuntimeDirectory::Owner::Engine && has_moved;
        if (is_hosts(directory) && (has_moved || (emptied == nullptr && directory.path == "/usr/bin")))
            emptied = &directory;
    }
    if (!has_copy)
        return nullptr;
    const RuntimeDirectory *const packaged = find_packaged(sysroot, directories);
    return packaged == nullptr && !engine_has_it ? emptied : packaged;
}

/**
 * Looks where recipes for wrappers of runc put it. What is not certain is refused and not guessed: a runc is a program
 * that only root may change, is no symlink and no vendor's runtime, and all that it could be are the same.
 * @throws Error if something cannot be looked at
 */
UnwrapPlan plan_unwrap(const Sysroot &sysroot)
{
    UnwrapPlan plan;
    const Directories directories = find_directories(sysroot);
    const RuntimeDirectory *const emptied = find_emptied(sysroot, directories);
    for (const RuntimeDirectory &directory : directories) {
        if (is_there(sysroot, directory.moved()))
            plan.copies.push_back(directory.moved());
        const RuntimeFile file = look_at_runtime(sysroot, directory.runc());
        try {
            if (&directory == emptied || is_wrapped(sysroot, directory.runc(), file))
                plan.restorations.push_back(plan_restoration(directory, file, sysroot, directories));
        } catch (const Error &error) {
            plan.refused.push_back(quote(directory.runc()) + " " + file.words +
                                   ", and nothing is put back there: " + error.what());
        }
    }
    return plan;
}

/** @param root nullptr to say what would be done */
void carry_out(const UnwrapPlan &plan, const Sysroot &sysroot, const RootFiles *root)
{
    for (const Restoration &each : plan.restorations) {
        if (root != nullptr)
            root->replace_program(each.path, read_runtime(sysroot, each.source), each.kept);
        print(quote(each.path) + " " + each.found + ": " + (root != nullptr ? "now" : "would be") +
              " a copy of " + quote(each.source) + "\n");
        if (!each.kept.empty())
            print((root != nullptr ? "now that script is " : "that script would be ") + quote(each.kept) +
                  "\n");
    }
}

int finish(const UnwrapPlan &plan)
{
    if (plan.restorations.empty() && plan.refused.empty())
        print("nothing to do: no wrapper stands where runc is looked for\n");
    if (!plan.copies.empty())
        print("left as they are: " + quote_list(plan.copies) +
              "; remove them by hand, once containers start and no configuration names them\n");
    refuse(plan.refused);
    return EXIT_SUCCESS;
}

} // namespace

std::vector<std::string> wrapped_runtimes(const Sysroot &sysroot)
{
    UnwrapPlan plan = plan_unwrap(sysroot);
    std::vector<std::string> sentences = std::move(plan.refused);
    for (const Restoration &each : plan.restorations)
        sentences.push_back(quote(each.path) + " " + each.found +
                            ", and not runc: what it does comes beside the hooks");
    return sentences;
}

int unwrap(CommandLine &cli, Invocation &call)
{
    bool dry_run = false;
    cli.add_flag("--dry-run", "Say what would be put back where, and change nothing", dry_run);
    if (!call.parse())
        return EXIT_SUCCESS;
    const auto sysroot = call.open();
    UnwrapPlan plan = plan_unwrap(*sysroot);
    if (dry_run) {
        carry_out(plan, *sysroot, nullptr);
    } else if (!plan.restorations.empty()) {
        RootFiles root = RootFiles::of_host(*sysroot);
        root.lock();
        plan = plan_unwrap(*sysroot); // of what whoever had the lock has left
        carry_out(plan, *sysroot, &root);
    }
    return finish(plan);
}

} // namespace ogh::admin
