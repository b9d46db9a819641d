// SPDX-License-Identifier: Apache-2.0
#include "install/removal.h"

#include <algorithm>
#include <set>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/text.h"
#include "engines/engine.h"
#include "engines/installed_hooks.h"
#include "registration/hook_folders.h"

namespace ogh::admin {

namespace {

using nlohmann::json;

bool is_drop_in(const InstalledFile &file)
{
    return file.path.ends_with(".conf");
}

/** Files of hooks may be in force by it. */
bool has_hooks_dir(const InstalledFile &file)
{
    return is_drop_in(file) && file.path != default_annotations_file;
}

/** Files that are in force by hooks_dir alone, and stay. */
std::vector<std::string> others_in_own_folder(const Sysroot &sysroot, const std::vector<std::string> &gone)
{
    std::vector<std::string> others;
    for (const HookFile &file :
         read_hook_folder(sysroot, std::string(own_hooks_folder), FolderRules::HooksD).files)
        if (std::find(gone.begin(), gone.end(), file.path) == gone.end())
            others.push_back(file.path);
    return others;
}

class Remover final {
public:
    Remover(const std::optional<std::string> &engine, const Sysroot &sysroot, const HostWriter &writer)
        : engine_(engine), sysroot_(sysroot), writer_(writer)
    {
    }

    void consider(const InstalledFile &file)
    {
        InstalledFile left = file;
        left.engines.erase(
            std::remove_if(left.engines.begin(), left.engines.end(),
                           [&](const std::string &name) { return !engine_ || name == *engine_; }),
            left.engines.end());
        if (left.engines.size() == file.engines.size()) {
            removal_.left.files.push_back(file); // another engine's
            return;
        }
        if (!left.engines.empty()) {
            removal_.left.files.push_back(left);
            return;
        }
        const PresentFile present = writer_.look(file.path);
        if (!present.exists)
            return;
        if (!present.is_plain || !file.has_text(present.text))
            return keep(file, "was changed by somebody, and stays");
        if (has_hooks_dir(file)) {
            const auto others = others_in_own_folder(sysroot_, removal_.gone);
            if (!others.empty())
                return keep(file, "stays: without it " + quote_list(others) + " would not be in force");
        }
        removal_.gone.push_back(file.path);
    }

    Removal result() { return std::move(removal_); }

private:
    void keep(const InstalledFile &file, const std::string &why)
    {
        removal_.kept.push_back(quote(file.path) + " " + why);
        removal_.left.files.push_back(file);
    }

    const std::optional<std::string> &engine_;
    const Sysroot &sysroot_;
    const HostWriter &writer_;
    Removal removal_;
};

/** A name, or what stands for one that is not known. */
std::string known_text(const json &lease, const char *name)
{
    const auto found = lease.find(name);
    return found != lease.end() && found->is_string() ? quote(found->get<std::string>())
                                                      : "that is not known";
}

/** @param text "leases" of --list --format json, see nvidia-devices(8) */
void add_leases(const std::string &text, const std::string &hook, std::set<std::string> &lines)
{
    const json listing = json::parse(text, nullptr, false);
    if (!listing.is_object() || !listing.contains("leases"))
        throw Error(ErrorKind::BrokenHost, "its list is no JSON with leases");
    for (const json &lease : listing.at("leases"))
        if (lease.is_object())
            lines.insert("container " + known_text(lease, "container") + " has GPU " +
                         known_text(lease, "gpus") + " by " + hook + ", until it ends");
}

} // namespace

Removal plan_removal(const Manifest &manifest, const std::optional<std::string> &engine,
                     const std::shared_ptr<const Sysroot> &sysroot, const HostWriter &writer)
{
    Remover remover(engine, *sysroot, writer);
    for (const bool drop_ins : {false, true})
        for (const InstalledFile &file : manifest.files)
            if (is_drop_in(file) == drop_ins)
                remover.consider(file);
    return remover.result();
}

std::vector<std::string> containers_with_gpus(const std::shared_ptr<const Sysroot> &sysroot)
{
    std::set<std::string> lines;
    for (const InstalledHook &hook : installed_hooks(*sysroot, find_engines(sysroot))) {
        if (!hook.hook->gives_gpus)
            continue;
        try {
            // Without a GPU there is no list.
            if (const ProgramOutput output = run_hook(*sysroot, hook, {"--list", "--format", "json"});
                output.exit_status == 0)
                add_leases(output.out, std::string(hook.hook->name), lines);
        } catch (const Error &error) {
            lines.insert("who has GPUs by " + std::string(hook.hook->name) +
                         " is not known: " + error.what());
        }
    }
    return {lines.begin(), lines.end()};
}

} // namespace ogh::admin
