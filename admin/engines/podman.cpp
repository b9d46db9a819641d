// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>
#include <string_view>

#include "base/dotted_version.h"
#include "base/error.h"
#include "engines/hooks_dir.h"
#include "engines/programs.h"
#include "engines/toml_file.h"

namespace ogh::admin {

namespace {

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

} // namespace

const EngineKind &podman_kind()
{
    static const Podman kind;
    return kind;
}

} // namespace ogh::admin
