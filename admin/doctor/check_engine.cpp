// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <set>

#include "base/contains.h"
#include "base/error.h"
#include "base/path_names.h"
#include "base/text.h"
#include "doctor/checks.h"
#include "host/host_file.h"
#include "host/trusted_path.h"
#include "registration/hooks.h"

namespace ogh::admin {

namespace {

/** A program that gives containers GPUs. */
struct VendorTool {
    const char *prefix; ///< that its name begins with
    const char *vendor;
    const char *variable; ///< by which an image asks for GPUs
};

// The programs of nvidia-container-toolkit and libnvidia-container, and of amd's container-toolkit.
constexpr std::array tools{
    VendorTool{"nvidia-container-", "NVIDIA", "NVIDIA_VISIBLE_DEVICES"},
    VendorTool{"nvidia-ctk", "NVIDIA", "NVIDIA_VISIBLE_DEVICES"},
    VendorTool{"nvidia-cdi-hook", "NVIDIA", "NVIDIA_VISIBLE_DEVICES"},
    VendorTool{"amd-container-runtime", "AMD", "AMD_VISIBLE_DEVICES"},
    VendorTool{"amd-ctk", "AMD", "AMD_VISIBLE_DEVICES"},
};

std::string past_the_policy(const VendorTool &tool)
{
    return std::string("an image that sets ") + tool.variable + " gets GPUs past the hooks and their policy";
}

Finding of_others(const std::string &what, const std::string &remedy)
{
    return {Severity::Error, what + ": whoever that is says what runs as root when a container is created",
            remedy};
}

/** A place, and each directory and symlink on the way to it. @return whether it is root's alone, or is not there */
bool check_path(const Sysroot &sysroot, const std::string &path, Findings &findings)
{
    const std::string remedy =
        "give it to root, with mode 0755 for a directory and 0644 for a file: " + printable(path);
    try {
        const auto place = find_trusted(sysroot, path);
        // In a sticky directory others may not replace a file, but may add one.
        const std::string why = place ? why_others_may_add(place->fd.get()) : "";
        if (!why.empty())
            findings.push_back(of_others(quote(path) + " " + why, remedy));
        return why.empty();
    } catch (const Error &error) {
        findings.push_back(of_others(error.what(), remedy));
        return false;
    }
}

/**
 * The directories that the engine reads, its configuration and the files in effect, this collection's and others', as far as
 * others than root may change them: a registration says what runs as root.
 */
Findings check_owners(const Engine &engine)
{
    Findings findings;
    std::set<std::string> seen;
    const auto is_right = [&](const std::string &path) {
        return !seen.insert(path).second || check_path(*engine.sysroot, path, findings);
    };
    std::set<std::string> open_to_others; // what is said of a directory goes for its files
    for (const HookDirectory &directory : engine.directories)
        if (directory.exists && !is_right(directory.path))
            open_to_others.insert(directory.path);
    for (const FileInEffect &each : files_in_effect(engine.directories))
        if (each.file->problem.empty() && !open_to_others.contains(directory_of(each.file->path)))
            is_right(each.file->path);
    if (!engine.directories_file.empty())
        is_right(engine.directories_file);
    return findings;
}

Findings check_directories(const Engine &engine)
{
    Findings findings;
    findings.push_back(
        {Severity::Note,
         engine.directory_paths.empty()
             ? "it reads no directory of hooks (" + engine.directories_from + ")"
             : "it reads " + quote_list(engine.directory_paths) + " (" + engine.directories_from + ")",
         ""});
    for (const HookDirectory &directory : engine.directories) {
        if (!directory.problem.empty())
            findings.push_back({Severity::Error, directory.problem, "fix the directory"});
        else if (!directory.exists)
            findings.push_back(
                {directory.path == default_hooks_directory || directory.path == own_hooks_directory
                     ? Severity::Note
                     : Severity::Error,
                 "there is no directory " + quote(directory.path) + ", which " + engine.directories_from +
                     " names",
                 "see to it that the name is right"});
    }
    return findings;
}

/** What is in effect in the place of a file that is left out. */
std::string in_its_place(const Engine &engine, const HookFile &file)
{
    const auto files = files_in_effect(engine.directories);
    const auto other = std::find_if(files.begin(), files.end(),
                                    [&](const FileInEffect &each) { return each.file->name == file.name; });
    return other == files.end() ? "" : ", and " + quote(other->file->path) + " is in effect in its place";
}

/** Such a hook is left out without a word, or what it is a copy of is in effect. */
Findings check_missing(const Engine &engine)
{
    Findings findings;
    for (const HookDirectory &directory : engine.directories)
        for (const HookFile &file : directory.files) {
            if (!file.is_missing || (file.ours == nullptr && file.problem.empty()))
                continue;
            const bool is_link = !file.problem.empty();
            findings.push_back({Severity::Error,
                                quote(file.path) +
                                    (is_link ? " is a symlink that leads nowhere"
                                             : " names " + quote(file.executable) + ", which is not there") +
                                    ": " + engine.kind->name + " leaves the file out without a word" +
                                    in_its_place(engine, file),
                                is_link ? "put back what it leads to, or remove it"
                                        : "install the hooks again, or fix 'path' in the file"});
        }
    return findings;
}

/** With such a file the engine starts no container, or none of those that the file is for. */
Finding unreadable(const Engine &engine, const HookFile &file)
{
    const bool is_worker = engine.rules == DirectoryRules::EveryFile;
    return {Severity::Error,
            quote(file.path) + " cannot be read: " + file.problem + "; " +
                (is_worker ? "a worker does not start with a file that is no JSON"
                           : engine.kind->name + " starts no container with a file that it cannot read"),
            std::string("fix the file, or remove it") +
                (is_worker ? ": each file of the directory is read, whatever its name" : "")};
}

/** A host's own copy is there for its policy. */
Finding replaced(const HookFile &other, const HookFile &in_effect)
{
    const bool is_own = other.path.starts_with(std::string(own_hooks_directory) + "/");
    return {is_own ? Severity::Error : Severity::Note,
            quote(other.path) + " is not in effect: " + quote(in_effect.path) + " takes its place",
            is_own ? "name the directory of the host's own copies last" : ""};
}

/** A file without its keys is not as it should be, whatever else is said of it. */
Findings check_with_keys(const Engine &engine, const HookFile &file)
{
    Findings findings = check_hook_file(engine, file);
    if (const auto keys = check_key_file(*engine.sysroot, file)) {
        findings.front().severity = Severity::Note;
        findings.push_back(*keys);
    }
    return findings;
}

/** The libraries of a driver are of no use to a program that does not find them. */
Findings check_libraries(const std::map<const OurHook *, std::vector<std::string>> &calls)
{
    const auto is_called = [&](std::string_view name) { return calls.contains(find_hook(name)); };
    if (!is_called("nvidia-devices") || is_called("ldcache-update"))
        return {};
    return {{Severity::Warning,
             "ldcache-update is not called: with a GPU, programs find the driver's libraries (libcuda.so.1) "
             "only in "
             "images that have /usr/local/nvidia/lib64 in their LD_LIBRARY_PATH",
             "register it as well, as 90-ldcache-update.json of the package does"}};
}

/** What is in effect: of two files that call a hook the policy is that of neither. */
Findings check_files(const Engine &engine, bool with_keys)
{
    Findings findings;
    std::map<const OurHook *, std::vector<std::string>> calls;
    for (const FileInEffect &each : files_in_effect(engine.directories)) {
        if (!each.file->problem.empty()) {
            findings.push_back(unreadable(engine, *each.file));
        } else if (each.file->ours != nullptr) {
            calls[each.file->ours].push_back(each.file->path);
            add(findings,
                with_keys ? check_with_keys(engine, *each.file) : check_hook_file(engine, *each.file));
            for (const HookFile *const other : each.replaced)
                findings.push_back(replaced(*other, *each.file));
        }
    }
    for (const auto &[hook, paths] : calls)
        if (paths.size() > 1)
            findings.push_back({Severity::Error,
                                std::string(hook->name) + " is called by each of " + quote_list(paths) +
                                    ": a container gets what any of these allows",
                                "give the host's own copy the name of the installed file, or remove one"});
    add(findings, check_libraries(calls));
    return findings;
}

/**
 * A copy with a policy, in a directory that the engine does not read: what is in effect is something else. Those that came with
 * the hooks are in nobody's way where the engine was told of another directory.
 */
Findings check_unread(const Engine &engine)
{
    Findings findings;
    for (const std::string_view directory : {own_hooks_directory, default_hooks_directory}) {
        if (contains(engine.directory_paths, directory) ||
            (directory == default_hooks_directory && !engine.directory_paths.empty()))
            continue;
        for (const HookFile &file :
             read_hook_directory(*engine.sysroot, std::string(directory), DirectoryRules::HooksD).files)
            if (file.ours != nullptr)
                findings.push_back({Severity::Error,
                                    quote(file.path) + " is not in effect: " + engine.kind->name +
                                        " does not read that directory",
                                    engine.remedy});
    }
    return findings;
}

/** Of somebody's list, which ours takes the place of: changed since. */
Findings check_lists_before(const std::vector<DefaultAnnotations> &lists, const std::string &remedy)
{
    Findings findings;
    if (lists.size() < 2 || lists.back().file != default_annotations_file)
        return findings;
    const DefaultAnnotations &before = *(lists.end() - 2);
    const std::vector<std::string> &ours = lists.back().entries;
    for (const std::string &entry : before.entries)
        if (!contains(ours, entry))
            findings.push_back({Severity::Warning,
                                quote(entry) + " of 'annotations' in " + quote(before.file) +
                                    " is not in effect: the list in " + quote(lists.back().file) +
                                    " takes its place",
                                remedy});
    return findings;
}

/** Whether an image may ask, by the defaults that are in effect after all files. */
Findings check_annotations(const Engine &engine)
{
    if (engine.kind->image_annotations == nullptr)
        return {};
    const ImageAnnotations annotations = engine.kind->image_annotations(*engine.kind, *engine.sysroot);
    const std::string remedy = "oci-gpu-hooks install --engine " + engine.kind->name + " --defaults";
    const std::vector<DefaultAnnotations> &lists = annotations.lists;
    Findings findings = check_lists_before(lists, remedy);
    const auto keys = keys_without_default(lists.empty() ? std::vector<std::string>() : lists.back().entries);
    const auto takes = annotations.are_taken;
    if (!takes.value_or(true))
        return findings;
    const std::string why =
        "before 4.5.1 " + engine.kind->name + " makes an image's annotations the container's";
    if (keys.empty())
        findings.push_back(
            {Severity::Ok,
             why + ", and the defaults in " + quote(lists.back().file) + " keep images from asking", ""});
    else if (takes)
        findings.push_back(
            {Severity::Error,
             why + ", and this is such a version: the author of an image may ask, by " + quote_list(keys),
             remedy});
    else
        findings.push_back({Severity::Note,
                            why + ": with such a version, the author of an image may ask; which one "
                                  "this is is not known",
                            remedy});
    return findings;
}

/** crun hands on nothing of what a hook says: podman's message is "exit code: 3" then. */
Findings check_runtime(const Engine &engine)
{
    if (engine.kind->runtime(*engine.sysroot) != "crun")
        return {};
    return {{Severity::Note,
             "its runtime is crun, which keeps a hook's words from whoever starts a container: of one that "
             "is refused "
             "they see 'exit code: 3' or another number",
             "the reason is in 'oci-gpu-hooks history --refused', in the journal (journalctl -t "
             "nvidia-devices), in the "
             "file of --log-file, and in the file that a container's annotation run.oci.hooks.stderr names"}};
}

/** Vendors' hooks in the directories that the engine reads, and vendors' runtimes in its configuration. */
Findings check_vendors(const Engine &engine)
{
    Findings findings;
    for (const FileInEffect &each : files_in_effect(engine.directories))
        for (const VendorTool &tool : tools)
            if (file_name_of(each.file->executable).starts_with(tool.prefix))
                findings.push_back({Severity::Warning,
                                    quote(each.file->path) + " calls " + tool.vendor + "'s own hook " +
                                        quote(each.file->executable) + ": " + past_the_policy(tool),
                                    "remove the file, if the hooks of this collection are to give GPUs"});
    for (const std::string &file : engine.kind->configuration(*engine.sysroot))
        add(findings, check_runtimes(read_settings(*engine.sysroot, file), file));
    return findings;
}

} // namespace

std::string read_settings(const Sysroot &sysroot, const std::string &file)
{
    constexpr size_t most = size_t{1} << 22U;
    std::string settings;
    for (std::string &line : split_list(read_host_file(sysroot, file, most).value_or(""), '\n')) {
        line.erase(std::remove(line.begin(), line.end(), ' '), line.end());
        if (!line.starts_with('#'))
            settings += line;
    }
    return settings;
}

Findings check_runtimes(const std::string &settings, const std::string &file)
{
    Findings findings;
    for (const VendorTool &tool : tools)
        if (settings.find(tool.prefix) != std::string::npos)
            findings.push_back({Severity::Warning,
                                quote(file) + " has " + tool.vendor +
                                    "'s runtime: where that is asked for, or the default, " +
                                    past_the_policy(tool),
                                "remove it, if the hooks alone are to give GPUs"});
    return findings;
}

Findings check_calls(const Engine &engine, bool with_keys)
{
    Findings findings = check_directories(engine);
    add(findings, check_missing(engine));
    add(findings, check_files(engine, with_keys));
    return findings;
}

Section check_engine(const Engine &engine, Severity when_unused)
{
    Section section{engine.title, engine.findings};
    if (engine.is_stopped)
        return section;
    add(section.findings, check_runtime(engine));
    add(section.findings, check_calls(engine, true));
    add(section.findings, check_owners(engine));
    const bool is_used = calls_hooks(engine);
    // An engine whose hooks stand in a place of its own may leave hooks.d to others, once it calls something.
    if (engine.kind->way == EngineKind::Way::HooksD ||
        (engine.kind->way == EngineKind::Way::OneDirectory && !is_used))
        add(section.findings, check_unread(engine));
    if (engine.kind->way != EngineKind::Way::Cdi) // check_cdi() has its configuration
        add(section.findings, check_vendors(engine));
    if (!is_used)
        section.findings.push_back({when_unused, "it calls none of the hooks of this collection",
                                    "oci-gpu-hooks install --engine " + engine.kind->name});
    else
        add(section.findings, check_annotations(engine));
    return section;
}

} // namespace ogh::admin
