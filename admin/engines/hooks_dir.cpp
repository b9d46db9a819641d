// SPDX-License-Identifier: Apache-2.0
#include <dirent.h>

#include <algorithm>
#include <chrono>
#include <string_view>

#include "base/dotted_version.h"
#include "base/error.h"
#include "base/path_names.h"
#include "base/text.h"
#include "engines/engine.h"
#include "engines/programs.h"
#include "engines/toml_file.h"
#include "kernel/directory_entries.h"

namespace ogh::admin {

namespace {

constexpr size_t max_drop_ins = 128;
constexpr size_t max_hook_directories = 16;

void read_file(Engine &engine, const HooksDirOption &option, const std::string &path)
{
    const auto directories = read_texts(*engine.sysroot, path, option.table + ".hooks_dir");
    if (!directories)
        return;
    if (directories->size() > max_hook_directories)
        throw Error(ErrorKind::BrokenHost, quote(path) + ": hooks_dir names more than " +
                                               std::to_string(max_hook_directories) + " directories");
    engine.directory_paths = *directories;
    engine.directories_from = "hooks_dir of " + quote(path);
    engine.directories_file = path;
}

void stop(Engine &engine, const Error &error, const char *what)
{
    engine.is_stopped = true;
    engine.findings.push_back(
        {Severity::Error, error.what(),
         std::string("fix the ") + what + ": " + engine.name + " starts no container like this"});
}

/** An engine that reads files of hooks by the rules of containers/common, and is told of their directories by hooks_dir. */
class HooksDirKind : public EngineKind {
public:
    /** @param name of its program, too */
    HooksDirKind(const std::string &name, HooksDirOption option)
        : EngineKind(name, name, Way::HooksD), option_(std::move(option))
    {
    }

    [[nodiscard]] std::vector<Engine> find(const std::shared_ptr<const Sysroot> &sysroot) const override;
    [[nodiscard]] const HooksDirOption *hooks_dir() const final { return &option_; }

    /** @throws Error (BrokenHost) if the directory of drop-ins cannot be read, or has too many */
    [[nodiscard]] std::vector<std::string> configuration(const Sysroot &sysroot) const final;

    [[nodiscard]] std::string runtime(const Sysroot &sysroot) const final;

private:
    HooksDirOption option_;
};

std::vector<std::string> HooksDirKind::configuration(const Sysroot &sysroot) const
{
    std::vector<std::string> paths = option_.files;
    const auto place = sysroot.find(option_.drop_ins);
    if (!place)
        return paths;
    const DirectoryListing listing{quote(option_.drop_ins),
                                   [&](std::string_view name) { return name.ends_with(option_.suffix); },
                                   max_drop_ins, ErrorKind::BrokenHost};
    for (const DirectoryEntry &entry : list_directory(place->fd.get(), listing))
        if (entry.type != DT_DIR)
            paths.push_back(option_.drop_ins + "/" + entry.name);
    return paths;
}

std::string HooksDirKind::runtime(const Sysroot &sysroot) const
{
    std::string found;
    for (const std::string &path : configuration(sysroot)) {
        const auto document = read_toml(sysroot, path);
        const auto *const value = document ? find_in(*document, split_list(option_.runtime, '.')) : nullptr;
        if (value != nullptr && value->is_string())
            found = file_name_of(value->get<std::string>());
    }
    if (found.empty())
        for (const char *const name : option_.usual_runtimes)
            if (find_program(sysroot, name))
                return name;
    return found;
}

std::vector<Engine> HooksDirKind::find(const std::shared_ptr<const Sysroot> &sysroot) const
{
    if (!is_installed(*sysroot))
        return {};
    Engine engine = new_engine(sysroot);
    engine.remedy = "have in a file of " + option_.drop_ins + ", below [" + option_.table +
                    R"(]: hooks_dir = ["/usr/share/containers/oci/hooks.d", "/etc/containers/oci/hooks.d"])";
    engine.directory_paths = {
        "/usr/share/containers/oci/hooks.d"}; // DefaultDir of pkg/hooks in containers/common
    engine.directories_from = "its default";
    std::vector<std::string> files;
    try {
        files = configuration(*sysroot);
    } catch (const Error &error) {
        stop(engine, error, "directory");
    }
    for (const std::string &path : files) {
        try {
            read_file(engine, option_, path);
        } catch (const Error &error) {
            stop(engine, error, "file");
        }
    }
    read_directories(engine);
    return {std::move(engine)};
}

// Before 4.5.1 podman makes the annotations of an image those of the container, where neither its defaults
// (`annotations` below [containers], containers.conf(5)) nor the caller has the same key.
const DottedVersion first_without{4, 5, 1};

std::optional<DottedVersion> version_of_podman(const Sysroot &sysroot)
{
    constexpr std::chrono::seconds limit{10};
    constexpr std::string_view before = "podman version ";
    const auto path = is_this_host(sysroot) ? find_program(sysroot, "podman") : std::nullopt;
    try {
        const auto program = path ? open_program(*path) : std::nullopt;
        if (!program)
            return std::nullopt;
        const std::string line = last_line(run_program(*program, {"podman", "--version"}, limit).out);
        return line.starts_with(before) ? DottedVersion::parse_start(line.substr(before.size()))
                                        : std::nullopt;
    } catch (const Error &) {
        return std::nullopt; // it is taken for one that needs defaults
    }
}

/** podman as root runs it: containers.conf(5). */
class Podman final : public HooksDirKind {
public:
    // The vendor's, the host's, then the host's drop-ins, each over the one before.
    Podman()
        : HooksDirKind("podman",
                       {"engine",
                        {"/usr/share/containers/containers.conf", "/etc/containers/containers.conf"},
                        "/etc/containers/containers.conf.d",
                        ".conf",
                        "engine.runtime",
                        {"crun", "runc"}})
    {
    }

    /** What its command line says of hooks it does not keep. */
    [[nodiscard]] std::vector<Engine> find(const std::shared_ptr<const Sysroot> &sysroot) const override
    {
        std::vector<Engine> engines = HooksDirKind::find(sysroot);
        for (Engine &engine : engines) {
            const auto files = files_in_force(engine.directories);
            if (std::none_of(files.begin(), files.end(),
                             [](const FileInForce &each) { return each.file->ours != nullptr; }))
                engine.findings.push_back(
                    {Severity::Note,
                     "a directory that is named by --hooks-dir alone is forgotten: when podman starts a "
                     "container again, by --restart for one, no hook is called, and nobody is told",
                     engine.remedy});
        }
        return engines;
    }

    /** The program is not run for another host (--sysroot), and its version is not known then. */
    [[nodiscard]] std::optional<ImageAnnotations> image_annotations(const Sysroot &sysroot) const override
    {
        ImageAnnotations found;
        if (const auto version = version_of_podman(sysroot))
            found.are_taken = *version < first_without;
        for (const std::string &path : configuration(sysroot))
            if (auto entries = read_texts(sysroot, path, "containers.annotations"))
                found.lists.push_back({path, std::move(*entries)});
        return found;
    }
};

/** CRI-O: crio.conf(5). */
class Crio final : public HooksDirKind {
public:
    Crio()
        : HooksDirKind("crio", {"crio.runtime",
                                {"/etc/crio/crio.conf"},
                                "/etc/crio/crio.conf.d",
                                "",
                                "crio.runtime.default_runtime",
                                {}})
    {
    }

    [[nodiscard]] std::string pod_key() const override { return "io.kubernetes.pod.namespace"; }
};

} // namespace

const EngineKind &podman_kind()
{
    static const Podman kind;
    return kind;
}

const EngineKind &crio_kind()
{
    static const Crio kind;
    return kind;
}

} // namespace ogh::admin
