// SPDX-License-Identifier: Apache-2.0
#include <sys/xattr.h>

#include <algorithm>
#include <array>
#include <set>

#include <nlohmann/json.hpp>

#include "base/contains.h"
#include "base/error.h"
#include "base/exit_status.h"
#include "base/number.h"
#include "base/path_names.h"
#include "base/text.h"
#include "doctor/checks.h"
#include "host/host_file.h"
#include "kernel/directory_entries.h"
#include "registration/policy_words.h"

namespace ogh::admin {

namespace {

/** @param without an option of its policy that does not count */
ProgramOutput ask(const Sysroot &sysroot, InstalledHook hook, const std::string &request,
                  std::string_view without = "")
{
    hook.options = policy_options(hook.options, without);
    return run_hook(sysroot, hook, {"--plan", "--request", request});
}

/** The rows of --list; none where the hook has nothing to list, which other checks speak of. */
nlohmann::json rows_of(const Sysroot &sysroot, const InstalledHook &hook, const char *name)
{
    const ProgramOutput output = run_hook(sysroot, hook, {"--list=json"});
    return output.exit_status == 0 ? nlohmann::json::parse(output.out).at(name) : nlohmann::json::array();
}

/** Each is asked for by itself: what matches nothing is no error in a list of what is allowed. */
Findings check_allowed(const Sysroot &sysroot, const InstalledHook &hook)
{
    Findings findings;
    const auto allowed = option_of(hook_file(hook), "--allow");
    if (!allowed || (hook.hook->gives_gpus && rows_of(sysroot, hook, "gpus").empty()))
        return findings; // a host may have no GPU of that vendor's, whatever its file allows
    for (const std::string &name : split_list(*allowed)) {
        const ProgramOutput output = ask(sysroot, hook, name, "--allow");
        if (is_status(output, ExitStatus::NotAvailable))
            findings.push_back({Severity::Error,
                                title_of(hook) + ": --allow names " + quote(name) +
                                    ", which there is not: " + message_of(hook, output),
                                "fix --allow in 'args' of its file"});
    }
    return findings;
}

/** What a file says of where to look is nobody's order to root, so that the hook has been asked without it. */
bool names_driver_root(const InstalledHook &hook)
{
    return std::any_of(hook.others.begin(), hook.others.end(),
                       [](const std::string &word) { return word.starts_with("--driver-root"); });
}

/** Whether the next container that asks for one GPU is given it. What is so for whichever engine names none. */
Findings check_one_gpu(const Sysroot &sysroot, const InstalledHook &hook)
{
    if (!hook.hook->gives_gpus)
        return {};
    const ProgramOutput output = ask(sysroot, hook, "any:1");
    const std::string answer = std::string(hook.hook->name) + ": " + message_of(hook, output);
    if (is_status(output, ExitStatus::Success))
        return {{Severity::Ok, title_of(hook) + ": a container that asks for a GPU is given one", ""}};
    if (is_status(output, ExitStatus::NotAvailable)) // a host need not have one, or it is a virtual machine's
        return {{Severity::Note, answer, ""}};
    if (is_status(output, ExitStatus::BrokenHost) && names_driver_root(hook))
        return {{Severity::Note, answer + "; this command does not follow --driver-root of a file", ""}};
    if (is_status(output, ExitStatus::BrokenHost))
        return {{Severity::Error, answer, "see " + std::string(hook.hook->name) + "(8)"}};
    return {};
}

constexpr const char *not_allowed = "not allowed"; // as --list has it

bool share_an_engine(const InstalledHook &a, const InstalledHook &b)
{
    return std::any_of(a.engines.begin(), a.engines.end(),
                       [&](const std::string &engine) { return contains(b.engines, engine); });
}

/** What leases know the devices by that this hook may give. */
std::set<std::string> given_keys(const Sysroot &sysroot, const InstalledHook &cdi)
{
    std::set<std::string> keys;
    for (const auto &row : rows_of(sysroot, cdi, "devices"))
        if (row.value("state", "").empty())
            for (const std::string &key : split_list(row.value("keys", "")))
                keys.insert(key);
    return keys;
}

/** A GPU that the hook for them does not give, and this one does; parts of a GPU are not compared. "" if there is none. */
std::string past_allow(const Sysroot &sysroot, const InstalledHook &gpus, const std::set<std::string> &given)
{
    const std::string prefix = gpus.hook->name == "amd-kfd" ? "amd:" : "nvidia:";
    for (const auto &row : rows_of(sysroot, gpus, "gpus"))
        if (std::string address = row.value("address", "");
            row.value("state", "") == not_allowed && given.contains(prefix + address))
            return address;
    return "";
}

std::optional<unsigned> most_of(const InstalledHook &hook)
{
    const auto most = option_of(hook_file(hook), "--max-devices");
    return most ? parse_small_number(*most, ~0U) : std::nullopt;
}

/** What the one's policy is wider in; "" if it is not. */
std::string wider(const Sysroot &sysroot, const InstalledHook &cdi, const InstalledHook &gpus,
                  const std::set<std::string> &given)
{
    if (const std::string past = past_allow(sysroot, gpus, given); !past.empty())
        return "gives the GPU " + past + ", which --allow of the latter does not";
    const auto most = most_of(gpus);
    if (most && most_of(cdi).value_or(~0U) > *most)
        return "gives a container more GPUs than the " + std::to_string(*most) +
               " of the latter's --max-devices";
    if (option_of(hook_file(gpus), "--min-lease") == "exclusive" &&
        option_of(hook_file(cdi), "--min-lease") != "exclusive")
        return "gives GPUs in shared leases, and the latter's are exclusive (--min-lease)";
    return "";
}

/**
 * Where an engine calls cdi-devices with --give-gpus: whether that gives GPUs past the policy of the hook for them, as the
 * same engine calls it.
 */
Findings check_given_gpus(const Sysroot &sysroot, const std::vector<InstalledHook> &hooks)
{
    Findings findings;
    for (const InstalledHook &cdi : hooks) {
        if (cdi.hook->name != "cdi-devices" || !contains(cdi.options, "--give-gpus"))
            continue;
        const std::set<std::string> given = given_keys(sysroot, cdi);
        for (const InstalledHook &gpus : hooks) {
            if (!gpus.hook->gives_gpus || !share_an_engine(cdi, gpus))
                continue;
            if (const std::string words = wider(sysroot, cdi, gpus, given); !words.empty())
                findings.push_back(
                    {Severity::Error,
                     title_of(cdi) + ", goes round " + std::string(gpus.hook->name) + ": it " + words,
                     "narrow --allow, --max-devices and --min-lease in 'args' of its file, or "
                     "take --give-gpus out"});
        }
    }
    return findings;
}

/** A container that asks for all directories gets none then, and starts. */
Findings check_source(const Sysroot &sysroot, const InstalledHook &hook)
{
    if (hook.hook->name != "mount-srv")
        return {};
    const auto named = option_of(hook_file(hook), "--source-dir");
    const std::string source = named.value_or("/srv");
    if (sysroot.find(source))
        return {};
    return {{named ? Severity::Warning : Severity::Note,
             title_of(hook) + ": there is no directory " + quote(source) + ", so that 'all' gives nothing",
             named ? "make it, or fix --source-dir in 'args' of its file" : ""}};
}

/** The third part of user:role:type:level; "" if the file has no label. */
std::string label_type_of(int fd)
{
    std::array<char, 4096> label{};
    // What is open with O_PATH has no other name by which its attributes can be read.
    const ssize_t length = ::getxattr(("/proc/self/fd/" + std::to_string(fd)).c_str(), "security.selinux",
                                      label.data(), label.size());
    if (length <= 0)
        return "";
    std::string text(label.data(), static_cast<size_t>(length));
    const std::vector<std::string> parts = split_list(text.substr(0, text.find('\0')), ':');
    return parts.size() < 3 ? "" : parts[2];
}

/** docs/selinux.md. @param source the directory of mount-srv */
Findings check_labels_in(const Sysroot &sysroot, const std::string &source)
{
    constexpr size_t most = 10'000;
    Findings findings;
    const auto place = sysroot.find(source);
    if (!place)
        return findings;
    const std::string remedy =
        "semanage fcontext -a -t container_file_t '" + source + "(/.*)?'; restorecon -R " + source;
    const auto is_other = [](std::string_view name) { return name != "." && name != ".."; };
    for (const DirectoryEntry &entry :
         list_directory(place->fd.get(), {quote(source), is_other, most, ErrorKind::BrokenHost})) {
        const std::string path = path_in(source, entry.name);
        const auto directory = sysroot.find(path);
        const std::string type = directory ? label_type_of(directory->fd.get()) : "";
        if (directory && !type.starts_with("container_"))
            findings.push_back({Severity::Warning,
                                "SELinux is enforced, and the type of " + quote(path) + " is " + quote(type) +
                                    ": containers may not read it",
                                remedy});
    }
    return findings;
}

Findings check_labels(const Sysroot &sysroot, const std::vector<InstalledHook> &hooks)
{
    constexpr size_t most = 64;
    if (!read_host_file(sysroot, "/sys/fs/selinux/enforce", most).value_or("").starts_with('1'))
        return {};
    Findings findings{
        {Severity::Note, "SELinux is enforced; what it means for the hooks is in the guide selinux.md", ""}};
    for (const InstalledHook &hook : hooks)
        if (hook.hook->name == "mount-srv")
            add(findings,
                check_labels_in(sysroot, option_of(hook_file(hook), "--source-dir").value_or("/srv")));
    return findings;
}

} // namespace

Section check_devices(const Sysroot &sysroot, const std::vector<InstalledHook> &hooks)
{
    Section section{"GPUs and directories", {}};
    try {
        std::set<std::string> said; // a host without a driver is one for each engine
        for (const InstalledHook &hook : hooks) {
            for (const Finding &finding : check_one_gpu(sysroot, hook))
                if (said.insert(finding.text).second)
                    section.findings.push_back(finding);
            add(section.findings, check_allowed(sysroot, hook));
            add(section.findings, check_source(sysroot, hook));
        }
        add(section.findings, check_given_gpus(sysroot, hooks));
        add(section.findings, check_labels(sysroot, hooks));
    } catch (const Error &error) {
        section.findings.push_back({Severity::Error, error.what(), "fix that, and run this again"});
    }
    return section;
}

} // namespace ogh::admin
