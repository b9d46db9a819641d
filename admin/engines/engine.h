// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "admin_config.h"
#include "host/sysroot.h"
#include "registration/hook_file.h"
#include "report/report.h"

namespace ogh::admin {

class EngineKind;

/** A container engine of this host, and which of our files it uses. */
struct Engine {
    const EngineKind *kind = nullptr;
    std::string name;  ///< of its kind
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

/** The option by which an engine is told of directories, and the files that have it. podman and CRI-O have one of that name. */
struct HooksDirOption {
    std::string table; ///< in which hooks_dir stands: "engine"
    std::vector<std::string>
        files;            ///< in the order in which the engine reads them: the last that has it wins
    std::string drop_ins; ///< the directory of further files, by name, read after these
    std::string suffix;   ///< that their names have; "" where every file of that directory counts
    std::string runtime;  ///< the option that says which runtime is called, with its table: "engine.runtime"
    std::vector<const char *>
        usual_runtimes; ///< of which the first that is there is called without that option
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
 * All that is known of engines of one kind, whether one is on this host or not. What goes for one of them alone is said
 * here, and whoever needs it asks. A further kind is a class in a source beside this one, with its function `NAME_kind()`,
 * and its name in the list `engines` of meson.build.
 */
class EngineKind {
public:
    /** How it is told of a hook. */
    enum class Way : std::uint8_t {
        HooksD,       ///< by a file in the directories that its option hooks_dir names
        OneDirectory, ///< by a file in a directory with nothing else in it
        Cdi           ///< by the devices of CDI specifications
    };

    EngineKind(std::string name, std::string program, Way way)
        : name_(std::move(name)), program_(std::move(program)), way_(way)
    {
    }
    EngineKind(const EngineKind &) = delete;
    EngineKind &operator=(const EngineKind &) = delete;
    virtual ~EngineKind() = default;

    [[nodiscard]] const std::string &name() const { return name_; }
    [[nodiscard]] Way way() const { return way_; }

    /** Whether its program is where root would find it. */
    [[nodiscard]] virtual bool is_installed(const Sysroot &sysroot) const;

    /** Where it may have its own programs, runc among them, beside those that root would find. */
    [[nodiscard]] virtual std::vector<const char *> program_directories() const { return {}; }

    /** Those of this host that read files of hooks, each with what it reads. */
    [[nodiscard]] virtual std::vector<Engine> find(const std::shared_ptr<const Sysroot> & /*sysroot*/) const
    {
        return {};
    }

    /** @return nullptr if it has none */
    [[nodiscard]] virtual const HooksDirOption *hooks_dir() const { return nullptr; }

    /** The directory with nothing else in it that is meant where none is named. */
    [[nodiscard]] virtual std::string own_directory() const { return ""; }

    /**
     * The annotation with which it says of which namespace a pod is, where its containers may be those of pods: in these
     * an annotation counts with a limit alone. "" if it has none.
     */
    [[nodiscard]] virtual std::string pod_key() const { return ""; }

    /** Whether it has runtimes whose containers start from a spec that a file says. */
    [[nodiscard]] virtual bool has_base_specs() const { return false; }

    /** @return nothing if no version of it has an image's annotations count. @throws Error (BrokenHost) */
    [[nodiscard]] virtual std::optional<ImageAnnotations> image_annotations(const Sysroot & /*sysroot*/) const
    {
        return std::nullopt;
    }

    /** The name of the runtime that it calls, "crun"; "" if that is not known. @throws Error (BrokenHost) */
    [[nodiscard]] virtual std::string runtime(const Sysroot & /*sysroot*/) const { return ""; }

    /** The files of its configuration, in the order in which it reads them. @throws Error (BrokenHost) */
    [[nodiscard]] virtual std::vector<std::string> configuration(const Sysroot & /*sysroot*/) const
    {
        return {};
    }

    /** @return nullptr if it is no engine that only CDI has call hooks */
    [[nodiscard]] virtual const CdiSwitch *cdi() const { return nullptr; }

    /** Whether its flag --gpus calls a program that the hooks may stand in for. */
    [[nodiscard]] virtual bool has_gpu_flag() const { return false; }

    /** What the doctor says beside its engines. @param is_found whether find() has any */
    [[nodiscard]] virtual std::vector<Section> notes(const Sysroot & /*sysroot*/, bool /*is_found*/) const
    {
        return {};
    }

    /** How somebody asks for the devices of a CDI specification. */
    [[nodiscard]] virtual std::string how_to_ask(const std::string & /*device*/) const { return ""; }

    /** What people have to do once the files are written. @param directory that of the files */
    [[nodiscard]] virtual std::vector<std::string> left_to_do(const std::string & /*directory*/) const
    {
        return {};
    }

    /** One that reads this host's own files, and no directory so far. */
    [[nodiscard]] Engine new_engine(const std::shared_ptr<const Sysroot> &sysroot) const;

private:
    std::string name_;
    std::string program_;
    Way way_;
};

// One function for each name in the list of meson.build.
OGH_ENGINE_DECLARATIONS

/** Each kind once, in the order of that list. */
std::span<const EngineKind *const> engine_kinds();

/** @return nullptr if there is none of that name */
const EngineKind *find_engine_kind(std::string_view name);

/** The names of those kinds that are told of hooks in one of these ways; of all without any. */
std::vector<std::string> engine_names(const std::vector<EngineKind::Way> &ways = {});

/** The engines of this host that read files of hooks, each with what it reads. */
std::vector<Engine> find_engines(const std::shared_ptr<const Sysroot> &sysroot);

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

/** Reads the directories that directory_paths names. */
void read_directories(Engine &engine);

/** What of its configuration, its directories and the files in effect cannot be read, a sentence each that names it. */
std::vector<std::string> unread(const Engine &engine);

} // namespace ogh::admin
