// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <set>
#include <string_view>

#include "base/contains.h"
#include "base/duration.h"
#include "base/error.h"
#include "base/path_names.h"
#include "base/text.h"
#include "doctor/checks.h"
#include "engines/installed_hooks.h"
#include "hook/cdi_option.h"
#include "hook/options.h"
#include "install/plans.h"
#include "registration/policy_words.h"
#include "request/annotations.h"

namespace ogh::admin {

namespace {

using nlohmann::ordered_json;

/** Where every file of a directory is a hook, `when` is not looked at: the file says what is so. */
ordered_json when_of(const Engine &engine, const OurHook &hook, const HookFile &file)
{
    if (engine.rules == DirectoryRules::EveryFile || needs_every_container(file))
        return ordered_json::object({{"always", true}});
    return ordered_json::object(
        {{"annotations", ordered_json::object({{annotations_of(hook), values_that_count}})}});
}

/**
 * The file that has the engine call the hook with these options; see HookFile. `when` and `timeout` fit them.
 */
std::string hook_file_text(const Engine &engine, const OurHook &hook, const std::vector<std::string> &options)
{
    const ordered_json document = {{"version", "1.0.0"},
                                   {"hook", hook_entry(hook, options)},
                                   {"when", when_of(engine, hook, hook_file({&hook, options, {}}))},
                                   {"stages", ordered_json::array({"createRuntime"})}};
    return document.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

PlannedFile planned_hook_file(const InstallHost &host, const InstallRequest &request, const Engine &engine,
                              const OurHook &hook, const std::string &path)
{
    const auto options = wanted_options(host, request, path).value_or(std::vector<std::string>());
    std::string text = hook_file_text(engine, hook, options);
    return planned_file(request, path, std::move(text), std::string(hook.name), options);
}

/** With annotations alone nobody could ask where `when` is not evaluated and nobody sets an annotation. */
void check_opt_in(const HookFile &file)
{
    if (file.ours->name != "ldcache-update" && !needs_every_container(file))
        throw Error(
            ErrorKind::Usage,
            std::string(file.ours->name) +
                " would give to containers with annotations alone, and a pipeline can set none: have behind "
                "it --opt-in always --request REQUEST, or --opt-in environment --key-file FILE, see "
                "'Concourse' in oci-gpu-hooks(7)");
}

/** With the planned files in the place of what is there, in a directory that it reads then. */
Engine with_planned(Engine engine, const InstallPlan &plan, const std::string &directory)
{
    const auto is_it = [&](const HookDirectory &each) { return each.path == directory; };
    if (std::none_of(engine.directories.begin(), engine.directories.end(), is_it)) {
        engine.directory_paths.push_back(directory);
        engine.directories.push_back(read_hook_directory(*engine.sysroot, directory, engine.rules));
    }
    HookDirectory &read = *std::find_if(engine.directories.begin(), engine.directories.end(), is_it);
    for (const PlannedFile &planned : plan.files) {
        if (planned.file.hook.empty())
            continue;
        HookFile file = parse_hook_file(planned.file.path, planned.text);
        file.is_missing = engine.rules == DirectoryRules::HooksD && !engine.sysroot->find(file.executable);
        std::erase_if(read.files, [&](const HookFile &other) { return other.name == file.name; });
        read.files.push_back(std::move(file));
        read.exists = true;
    }
    return engine;
}

/** As if nothing called these. */
Engine without(Engine engine, const std::vector<const OurHook *> &hooks)
{
    for (HookDirectory &directory : engine.directories)
        std::erase_if(directory.files, [&](const HookFile &file) { return contains(hooks, file.ours); });
    return engine;
}

/** After the files of packages, and with room for those of an administrator. */
constexpr const char *drop_in_name = "90-oci-gpu-hooks.conf";

constexpr const char *head_of_defaults =
    R"(# Written by oci-gpu-hooks install. Before podman 4.5.1 the annotations of an image become the
# container's: with these defaults an image asks for nothing, and whoever calls podman still can.
# A list takes the place of those in earlier files, so what was in effect stands here as well.
[containers]
annotations = [
)";

const std::string own_directory(own_hooks_directory);

/** A basic string of TOML, which JSON's is but for one letter. */
std::string toml_text(const std::string &text)
{
    constexpr char erase = '\x7f';
    std::string quoted = nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
    for (size_t at = quoted.find(erase); at != std::string::npos; at = quoted.find(erase, at))
        quoted.replace(at, 1, "\\u007F");
    return quoted;
}

const HookFile *find_by_name(const HookDirectory &directory, std::string_view name)
{
    const auto found = std::find_if(directory.files.begin(), directory.files.end(),
                                    [&](const HookFile &file) { return file.name == name; });
    return found == directory.files.end() ? nullptr : &*found;
}

/** @return nothing where no image can ask. @throws Error (BrokenHost) where the defaults would not be in effect */
std::optional<PlannedFile> plan_defaults(const InstallHost &host, const InstallRequest &request)
{
    if (request.kind->image_annotations == nullptr)
        return std::nullopt;
    const ImageAnnotations annotations = request.kind->image_annotations(*request.kind, *host.sysroot);
    DefaultAnnotations others;
    for (const DefaultAnnotations &each : annotations.lists)
        if (each.file != default_annotations_file)
            others = each;
    const auto keys = keys_without_default(others.entries);
    const bool is_there = host.manifest.find(default_annotations_file) != nullptr;
    // One that is there stays right, whichever version it is: it holds the lists of earlier files.
    if (!is_there && (keys.empty() || !annotations.are_taken.value_or(true)))
        return std::nullopt;
    if (others.file > default_annotations_file && !keys.empty())
        throw Error(
            ErrorKind::BrokenHost,
            quote(others.file) + " has annotations for all containers, and is read after " +
                quote(default_annotations_file) +
                ": give that file another name, or add there, each with the value '-': " + quote_list(keys));
    std::string text = head_of_defaults;
    for (const std::string &entry : others.entries)
        text += "    " + toml_text(entry) + ",\n";
    for (const std::string &key : keys)
        text += "    " + toml_text(key + "=" + std::string(absent_value)) + ",\n";
    return planned_file(request, default_annotations_file, text + "]\n");
}

class Planner final {
public:
    Planner(const InstallHost &host, const InstallRequest &request, const Engine &engine)
        : host_(host), request_(request), engine_(engine),
          own_(read_hook_directory(*host.sysroot, own_directory, engine.rules)),
          is_read_(contains(engine.directory_paths, own_directory))
    {
    }

    InstallPlan plan()
    {
        if (auto file = plan_defaults(host_, request_))
            plan_.files.push_back(std::move(*file)); // the first: before a hook, and before its policy
        if (request_.defaults_alone)
            return std::move(plan_);
        const std::vector<const OurHook *> hooks = wanted_hooks(*host_.sysroot, request_);
        for (const OurHook *const hook : hooks)
            plan_hook(*hook);
        if (!is_read_ && needs_directory_)
            plan_drop_in();
        const Engine after = needs_directory_ ? with_planned(engine_, plan_, own_directory) : engine_;
        for (std::string &line : checked_calls(after, without(engine_, hooks)))
            plan_.said.push_back(std::move(line));
        return std::move(plan_);
    }

private:
    /** The first file by which the engine calls the hook, nullptr if none. */
    [[nodiscard]] const HookFile *file_in_effect(const OurHook &hook) const
    {
        for (const FileInEffect &each : files_in_effect(engine_.directories))
            if (each.file->ours == &hook)
                return each.file;
        return nullptr;
    }

    /** Without options, what is there stays: nobody takes a policy away by asking for none. */
    void plan_hook(const OurHook &hook)
    {
        const HookFile *const called_by = file_in_effect(hook);
        const std::string name = called_by != nullptr ? called_by->name : std::string(hook.file);
        const HookFile *const own = find_by_name(own_, name);
        if (request_.options.empty() && (called_by != nullptr || own != nullptr)) {
            const bool is_own = called_by == nullptr || (!is_read_ && own != nullptr);
            needs_directory_ = needs_directory_ || is_own || called_by->path.starts_with(own_directory + "/");
            return;
        }
        plan_.files.push_back(
            planned_hook_file(host_, request_, engine_, hook, path_in(own_directory, name)));
        needs_directory_ = true;
    }

    void plan_drop_in()
    {
        const HooksDirOption &option = *engine_.kind->hooks_dir;
        const std::string path = path_in(option.drop_ins, drop_in_name);
        if (engine_.directories_file.starts_with(option.drop_ins + "/") && engine_.directories_file > path)
            throw Error(ErrorKind::BrokenHost, quote(engine_.directories_file) +
                                                   " has hooks_dir and is read after " + quote(path) +
                                                   ": add " + quote(own_directory) +
                                                   " to hooks_dir there, at the end, and run this again");
        for (const HookFile &file : own_.files) // what lies there so far, unread
            if (file.ours == nullptr)
                plan_.said.push_back("comes into effect with this: " + quote(file.path));
        std::string directories;
        for (const std::string &directory : engine_.directory_paths)
            directories += toml_text(directory) + ", ";
        plan_.files.push_back(
            planned_file(request_, path,
                         "# Written by oci-gpu-hooks install; the later directory wins.\n[" + option.table +
                             "]\nhooks_dir = [" + directories + toml_text(own_directory) + "]\n"));
        if (option.suffix.empty()) // every file there counts, and none is to be there that is not whole
            plan_.files.back().aside = directory_of(option.drop_ins);
    }

    const InstallHost &host_;
    const InstallRequest &request_;
    const Engine &engine_;
    HookDirectory own_;
    bool is_read_;                 ///< the directory for the host's own files
    bool needs_directory_ = false; ///< something of it is to be in effect
    InstallPlan plan_;
};

} // namespace

ordered_json hook_entry(const OurHook &hook, const std::vector<std::string> &options)
{
    const HookFile file = hook_file({&hook, options, {}});
    const auto wait = option_of(file, "--max-wait");
    return {{"path", hook.executable},
            {"args", file.args},
            {"env", ordered_json::array({"PATH=/usr/sbin:/usr/bin:/sbin:/bin"})},
            {"timeout",
             hook_timeout(parse_duration(wait.value_or("")).value_or(std::chrono::seconds(0))).count()}};
}

std::vector<std::string> checked_calls(const Engine &after, const Engine &others)
{
    std::vector<std::string> said;
    Findings wrong;
    for (const Finding &finding : check_calls(after)) {
        if (finding.severity == Severity::Error)
            wrong.push_back(finding);
        else if (finding.severity != Severity::Note)
            said.push_back(finding.text + (finding.remedy.empty() ? "" : "; " + finding.remedy));
    }
    std::set<std::string> known;
    for (const Finding &finding : wrong.empty() ? Findings() : check_calls(others))
        known.insert(finding.text);
    for (const Finding &finding : wrong)
        if (!known.contains(finding.text))
            throw Error(ErrorKind::BrokenHost, finding.text + "; " + finding.remedy);
    return said;
}

InstallPlan plan_one_directory(const InstallHost &host, const InstallRequest &request)
{
    const std::string path =
        absolute_directory(request.directory.value_or(request.kind->own_directory), "--directory");
    const Engine engine = request.kind->new_engine(host.sysroot);
    InstallPlan plan;
    for (const OurHook *const hook : wanted_hooks(*host.sysroot, request)) {
        plan.files.push_back(planned_hook_file(host, request, engine, *hook, path_in(path, hook->file)));
        check_opt_in(hook_file({hook, plan.files.back().file.options, {}}));
        plan.files.back().aside =
            directory_of(path); // a worker that starts reads whatever is in the directory
    }
    plan.said = checked_calls(with_planned(engine, plan, path), engine);
    for (const std::string &line : request.kind->left_to_do)
        plan.said.push_back(filled(line, "DIRECTORY", printable(path)));
    return plan;
}

// The files of hooks come first and hooks_dir last. Until the directory is read they count for nothing, and what was in
// effect stays so; then all of them count at once. The other way round, what somebody has left in that directory would be in
// effect until it is replaced. Where the directory is read already each file is replaced in one step.
InstallPlan plan_hooks_d(const InstallHost &host, const InstallRequest &request, const Engine &engine)
{
    return Planner(host, request, engine).plan();
}

void check_in_effect(const std::vector<Change> &changes, const Engine &engine)
{
    const std::vector<FileInEffect> files = files_in_effect(engine.directories);
    for (const Change &change : changes) {
        const std::string &path = change.planned.file.path;
        const bool is_called = std::any_of(files.begin(), files.end(), [&](const FileInEffect &each) {
            return directory_of(each.file->path) == directory_of(path) &&
                   each.file->name == file_name_of(path);
        });
        if (change.fate != Fate::Theirs && !change.planned.file.hook.empty() && !is_called)
            throw Error(ErrorKind::BrokenHost, quote(path) + " would not be in effect: " + engine.kind->name +
                                                   " reads " + quote_list(engine.directory_paths) + " (" +
                                                   engine.directories_from + ")");
    }
}

} // namespace ogh::admin
