// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "admin_config.h"
#include "base/dotted_version.h"
#include "host/sysroot.h"
#include "registration/hook_file.h"
#include "report/report.h"

namespace ogh::admin {

struct EngineKind;

/** A container engine of this host, and which of our files it uses. */
struct Engine {
    const EngineKind *kind = nullptr;
    std::string title; ///< how it is called in what people read: "podman", "concourse worker (pid 812)"
    std::string
        directories_from; ///< what says which directories it reads: "its default", "hooks_dir of '/etc/…'"
    std::string directories_file; ///< the file that says it; "" for a default
    std::string remedy;           ///< how it is made to read another directory
    std::string runtime;          ///< containerd's, which pods name; "" for other engines
    DirectoryRules rules = DirectoryRules::HooksD;
    std::vector<std::string> directory_paths; ///< that it reads, the later one wins
    std::shared_ptr<const Sysroot> sysroot;   ///< the files as it sees them
    std::shared_ptr<const Sysroot> host;      ///< this host's own, the same unless it has a root of its own
    std::vector<HookDirectory> directories;   ///< of directory_paths, in this order
    Findings findings;                        ///< of its configuration
    bool is_stopped = false;                  ///< by its configuration: it starts no container at all
};

/** The option by which an engine is told of directories: podman and CRI-O have one of that name, `hooks_dir`. */
struct HooksDirOption {
    std::string table; ///< in which it stands: "engine"
    std::string
        drop_ins; ///< the directory of further files, by name, read after EngineKind::configuration_files
    std::string suffix;  ///< that their names have; "" where every file of that directory counts
    std::string runtime; ///< the option that says which runtime is called, with its table: "engine.runtime"
    std::vector<const char *> usual_runtimes{}; ///< the first that is there is called without that option
};

/** A list of annotations that containers begin with, and the file that has it. */
struct DefaultAnnotations {
    std::string file;
    std::vector<std::string> entries; ///< KEY=VALUE
};

/** Annotations of images that become those of containers, where neither the engine's defaults nor the caller has the key. */
struct ImageAnnotations {
    std::optional<bool> are_taken; ///< nothing where the engine's version is not known
    std::vector<DefaultAnnotations>
        lists; ///< in the order in which they are read: the last one alone is in effect
};

/** How the configuration of an engine says that CDI is to be used. */
struct CdiSwitch {
    const char *on; ///< as it is written, but for blanks
    const char *off;
    const char *remedy; ///< how it is switched on
};

/**
 * All that is known of engines of one kind, whether one is on this host or not: a row, which `install`, `doctor` and
 * `uninstall` go by. A further kind is a row in a source beside this one, with what looks at a host for it and its function
 * `NAME_kind()`, and its name in the list `engines` of meson.build.
 */
struct EngineKind {
    /** How it is told of a hook. */
    enum class Way : std::uint8_t {
        HooksD,       ///< by a file in the directories that its option hooks_dir names
        OneDirectory, ///< by a file in a directory with nothing else in it
        Cdi           ///< by the devices of CDI specifications
    };

    std::string name;
    std::string program;
    Way way = Way::Cdi;
    /** Where it may have its own programs, runc among them, beside those that root would find. */
    std::vector<const char *> program_directories{};
    /** Options of `install` that not every kind takes. */
    std::vector<std::string_view> install_options{};
    /** With --directory: the one with nothing else in it that is meant where none is named. */
    std::string own_directory{};
    /** The files of its configuration, in the order in which it reads them: the last that says something wins. */
    std::vector<std::string> configuration_files{};
    std::optional<HooksDirOption> hooks_dir{};
    /** Of an engine that only CDI has call hooks. */
    std::optional<CdiSwitch> cdi{};
    /**
     * The annotation with which it says of which namespace a pod is, where its containers may be those of pods: in these
     * an annotation counts with a limit alone. "" if it has none.
     */
    std::string pod_key{};
    /** How somebody asks for the DEVICE of a CDI specification. */
    std::string how_to_ask{};
    /** What people have to do once files are written in a DIRECTORY. */
    std::vector<std::string> left_to_do{};

    /** Those of this host that read files of hooks, each with what it reads. */
    std::vector<Engine> (*find)(const EngineKind &kind,
                                const std::shared_ptr<const Sysroot> &sysroot) = nullptr;
    /** What the doctor says beside its engines; nullptr: nothing. @param is_found whether find() has any */
    std::vector<Section> (*notes)(const EngineKind &kind, const Sysroot &sysroot, bool is_found) = nullptr;
    /** Of versions that have an image's annotations count; nullptr if there is none. @throws Error (BrokenHost) */
    ImageAnnotations (*image_annotations)(const EngineKind &kind, const Sysroot &sysroot) = nullptr;

    /** Whether its program is where root would find it, or where it may have its own. */
    [[nodiscard]] bool is_installed(const Sysroot &sysroot) const;

    /** Whether `install` takes this option for it. */
    [[nodiscard]] bool takes(std::string_view option) const;

    /** The files of its configuration and the drop-ins. @throws Error (BrokenHost) if these cannot be read, or are too many */
    [[nodiscard]] std::vector<std::string> configuration(const Sysroot &sysroot) const;

    /** The name of the runtime that it calls, "crun"; "" if that is not known. @throws Error (BrokenHost) */
    [[nodiscard]] std::string runtime(const Sysroot &sysroot) const;

    /** One that reads this host's own files, and no directory so far. */
    [[nodiscard]] Engine new_engine(const std::shared_ptr<const Sysroot> &sysroot) const;
};

/** A text of a row with a value in the place of a word. */
std::string filled(std::string text, std::string_view word, const std::string &value);

/**
 * Which version of an engine is installed, as its program says itself, behind --version.
 * @return nothing if it is not known, as on another host (--sysroot), where it is not run
 */
std::optional<DottedVersion> version_of(const Sysroot &sysroot, const std::string &program);

// One function for each name in the list of meson.build.
OGH_ENGINE_DECLARATIONS

/** Each kind once, in the order of that list. */
std::span<const EngineKind *const> engine_kinds();

/** @return nullptr if there is none of that name */
const EngineKind *find_engine_kind(std::string_view name);

/** The names of all kinds. */
std::vector<std::string> engine_names();

/** The engines of this host that read files of hooks, each with what it reads. */
std::vector<Engine> find_engines(const std::shared_ptr<const Sysroot> &sysroot);

/** Whether one of them is of this kind. */
bool is_among(const std::vector<Engine> &engines, const EngineKind &kind);

/** Whether it is this host, whose processes and programs are those of this process too, and not a directory (--sysroot). */
inline bool is_this_host(const Sysroot &sysroot)
{
    return sysroot.on_host("/") == "/";
}

/** Whether it sees other files than this process. */
inline bool has_own_root(const Engine &engine)
{
    return engine.sysroot != engine.host;
}

/** Whether it calls a hook of this collection. */
bool calls_hooks(const Engine &engine);

/** Reads the directories that directory_paths names, which have no slash at their end from then on. */
void read_directories(Engine &engine);

} // namespace ogh::admin
