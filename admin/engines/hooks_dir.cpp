// SPDX-License-Identifier: Apache-2.0
#include "base/dotted_version.h"
#include "base/error.h"
#include "base/text.h"
#include "engines/engine.h"
#include "engines/toml_file.h"

namespace ogh::admin {

namespace {

constexpr size_t max_hook_directories = 16;

/**
 * The strings of a list in a file.
 * @param list its name, behind those of the tables that it is in: "crio.runtime.hooks_dir"
 * @return nothing if there is no such list, or no file @throws Error, as read_toml()
 */
std::optional<std::vector<std::string>> read_texts(const Sysroot &sysroot, const std::string &path,
                                                   const std::string &list)
{
    const auto document = read_toml(sysroot, path);
    const auto *const found = document ? find_in(*document, split_list(list, '.')) : nullptr;
    return found != nullptr && found->is_array() ? std::optional(texts_of(found)) : std::nullopt;
}

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
         std::string("fix the ") + what + ": " + engine.kind->name + " starts no container like this"});
}

/** One that reads files of hooks by the rules of containers/common. */
std::vector<Engine> find_with_hooks_dir(const EngineKind &kind, const std::shared_ptr<const Sysroot> &sysroot)
{
    if (!kind.is_installed(*sysroot))
        return {};
    const HooksDirOption &option = *kind.hooks_dir;
    Engine engine = kind.new_engine(sysroot);
    engine.remedy = "have in a file of " + option.drop_ins + ", below [" + option.table +
                    R"(]: hooks_dir = ["/usr/share/containers/oci/hooks.d", "/etc/containers/oci/hooks.d"])";
    engine.directory_paths = {
        "/usr/share/containers/oci/hooks.d"}; // DefaultDir of pkg/hooks in containers/common
    engine.directories_from = "its default";
    std::vector<std::string> files;
    try {
        files = kind.configuration(*sysroot);
    } catch (const Error &error) {
        stop(engine, error, "directory");
    }
    for (const std::string &path : files) {
        try {
            read_file(engine, option, path);
        } catch (const Error &error) {
            stop(engine, error, "file");
        }
    }
    read_directories(engine);
    return {std::move(engine)};
}

/** What its command line says of hooks it does not keep. */
std::vector<Engine> find_podman(const EngineKind &kind, const std::shared_ptr<const Sysroot> &sysroot)
{
    std::vector<Engine> engines = find_with_hooks_dir(kind, sysroot);
    for (Engine &engine : engines)
        if (!calls_hooks(engine))
            engine.findings.push_back(
                {Severity::Note,
                 "a directory that is named by --hooks-dir alone is forgotten: when podman starts a "
                 "container again, by --restart for one, no hook is called, and nobody is told",
                 engine.remedy});
    return engines;
}

/**
 * Before 4.5.1 podman makes the annotations of an image those of the container, where neither its defaults (`annotations`
 * below [containers], containers.conf(5)) nor the caller has the same key.
 */
ImageAnnotations annotations_of_podman(const EngineKind &kind, const Sysroot &sysroot)
{
    ImageAnnotations found;
    if (const auto version = version_of(sysroot, kind.program))
        found.are_taken = *version < DottedVersion{4, 5, 1};
    for (const std::string &path : kind.configuration(sysroot))
        if (auto entries = read_texts(sysroot, path, "containers.annotations"))
            found.lists.push_back({path, std::move(*entries)});
    return found;
}

} // namespace

/** As root runs it: containers.conf(5). The vendor's file, the host's, then the host's drop-ins, each over the one before. */
const EngineKind &podman_kind()
{
    static const EngineKind kind{
        .name = "podman",
        .program = "podman",
        .way = EngineKind::Way::HooksD,
        .install_options = {"--defaults"},
        .configuration_files = {"/usr/share/containers/containers.conf", "/etc/containers/containers.conf"},
        .hooks_dir =
            HooksDirOption{
                "engine", "/etc/containers/containers.conf.d", ".conf", "engine.runtime", {"crun", "runc"}},
        .find = find_podman,
        .image_annotations = annotations_of_podman,
    };
    return kind;
}

/** crio.conf(5). */
const EngineKind &crio_kind()
{
    static const EngineKind kind{
        .name = "crio",
        .program = "crio",
        .way = EngineKind::Way::HooksD,
        .configuration_files = {"/etc/crio/crio.conf"},
        .hooks_dir =
            HooksDirOption{"crio.runtime", "/etc/crio/crio.conf.d", "", "crio.runtime.default_runtime"},
        .pod_key = "io.kubernetes.pod.namespace",
        .find = find_with_hooks_dir,
    };
    return kind;
}

} // namespace ogh::admin
