// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <string_view>

#include "base/command_line.h"

namespace ogh {

/** An option of a hook, and what it is to who reads it in a file. */
struct DeclaredOption {
    const char *name;
    const char *type; ///< as CommandLine::Option has it
    unsigned use;     ///< a sum of option_use
    const char *help;
    std::string_view hook = {}; ///< whose it is, of several of a name; these differ in their words alone

    [[nodiscard]] constexpr bool is(unsigned what) const { return (use & what) == what; }
};

namespace option_use {

constexpr unsigned policy = 1;          ///< who may ask, or what is given
constexpr unsigned limit = policy | 2U; ///< and a limit to what a pod's author may ask
constexpr unsigned place = 4;   ///< an absolute path on the host that is read or written beside the policy
constexpr unsigned other = 8;   ///< where messages go to, and how many
constexpr unsigned action = 16; ///< what is done instead of the hook's work: for a command line alone
constexpr unsigned look = action | 256U; ///< that changes nothing, and logs nothing but to standard error
constexpr unsigned asks = 32;    ///< who asks, or what the host asks for: not where somebody else asks
constexpr unsigned narrows = 64; ///< without it more may be had
constexpr unsigned widens = 128; ///< with it more may be had, or by more containers

/** Every option of every hook. */
inline constexpr auto every_option = std::to_array<DeclaredOption>({
    {"--allow", "GPU,...", limit | narrows, "The only GPUs that may be given (default: every GPU)"},
    {"--allow", "KIND[=NAME],...", limit | narrows,
     "The only devices that may be given (default: every device)", "cdi-devices"},
    {"--allow", "NAME,...", limit | narrows, "The only names that may be given (default: every name)",
     "mount-srv"},
    {"--max-devices", "N", limit | narrows, "How many devices one container may have (default: no limit)"},
    {"--only-empty", nullptr, policy | narrows, "Give no GPU that somebody uses without a lease"},
    {"--empty-below", "SIZE", policy,
     "How much of its memory is in use at least of a GPU that is not empty (default: 512MiB)"},
    {"--from", "SOURCE,...", policy | asks | widens,
     "Where Kubernetes' device plugin says which GPUs a container has (default: nowhere, containers ask)"},
    {"--observer", "NAME=PATTERN", policy | asks | widens,
     "Containers of a namespace that see every GPU without a lease, such as a device plugin's own; may be "
     "given several times (default: none)"},
    {"--min-lease", "NAME", policy | narrows,
     "What a container has to accept: shared or exclusive (default: shared)"},
    {"--max-wait", "TIME", policy, "How long a container may wait for a GPU (default: 0s)"},
    {"--idle-after", "TIME", policy,
     "When its GPUs may be taken away: so long after its last process has ended, or never (default: 1s)"},
    {"--begin-within", "TIME", policy,
     "The same where nothing has run in it, since it got them (default: 2m)"},
    {"--max-hold", "TIME", policy,
     "How long a container may have a GPU while another one waits for it (default: no limit)"},
    {"--quota", "NAME=N", limit | narrows,
     "At most N devices at once for all that ask hooks with a quota of this name, or for each value of an "
     "annotation of this name that the engine writes; may be given several times (default: no limit)"},
    {"--max-sharers", "N", policy | narrows,
     "How many containers may share a device, 1 to 64 (default: no limit)"},
    {"--drain", "GPU[=REASON]", action,
     "Give this GPU to nobody until --undrain or the next boot, and do nothing else (default: none)"},
    {"--undrain", "GPU", action, "Give it again, and do nothing else (default: none)"},
    {"--for", "TIME", action, "Of --drain: ends by itself after that time (default: it does not)"},
    {"--list", "[=FORMAT]", look,
     "Print what this host gives and who has it, as a table or json; of GPUs as screen, tags or status, too"},
    {"--format", "FORMAT", look, "--list --format FORMAT is --list=FORMAT (default: table)"},
    {"--cdi", "[=KIND]", look,
     "Print a CDI specification whose devices call this hook; KIND is the vendor's, for which they stand in"},
    {"--cdi", nullptr, look, "Print a CDI specification whose devices call this hook", "mount-srv"},
    {"--driver-root", "DIR", place, "Where the driver's files are (default: /)"},
    {"--count-means", "NAME", policy | asks,
     "What 0,1,... in the container's variable means, which docker makes of --gpus N: first or any (default: "
     "first)"},
    {"--capabilities", "LIST", policy | asks | widens,
     "What --request asks for beside GPUs (default: see the annotation)"},
    {"--allow-capabilities", "LIST", policy | narrows,
     "The only capabilities that may be asked for, or none (default: every capability)"},
    {"--allow-imex", "LIST", policy | widens,
     "The only IMEX channels that may be asked for, or all (default: none)"},
    {"--source-dir", "DIR", policy | widens, "Whose entries are given (default: /srv)"},
    {"--target-dir", "DIR", policy, "Where they appear in the container (default: /srv)"},
    {"--writable", "NAME", policy | narrows,
     "Mounts: stated (where the specification says rw), spec (where it does not say ro) or never (default: "
     "stated)",
     "cdi-devices"},
    {"--writable", "NAME", policy | narrows, "by-name (*_writable*, *_rw) or never (default: by-name)",
     "mount-srv"},
    {"--idmap", nullptr, policy, "Map the owners of writable directories into a container's user namespace"},
    {"--spec-dir", "DIR", policy | widens,
     "Where CDI specifications are; may be given several times, and the last wins (default: /etc/cdi, "
     "/var/run/cdi)"},
    {"--require-env", nullptr, policy | narrows,
     "Start no container that lacks a variable which a specification sets, as a hook cannot set it (default: "
     "warn)"},
    {"--engine-annotations", nullptr, policy | widens,
     "Annotations cdi.k8s.io/... of engines ask as well; not with --only (default: they are not read)"},
    {"--give-gpus", nullptr, policy | widens,
     "Give GPUs of which another hook knows as well; needs --allow and --max-devices (default: that hook "
     "alone gives them)"},
    {"--directory", "DIR", policy,
     "Another directory of the container; may be given several times (default: none)"},
    {"--opt-in", "NAME", policy | asks | widens,
     "Who may ask: annotation, environment or always (default: annotation)"},
    {"--request", "VALUE", policy | asks | widens,
     "What the host asks for (default: nothing, the container asks)"},
    {"--key-file", "FILE", place | asks | narrows,
     "Environment counts only with a key of this file (default: no file)"},
    {"--only", "NAME=PATTERN", limit | narrows,
     "Only containers whose annotation NAME matches; may be given several times (default: all)"},
    {"--sysroot", "DIR", place, "Where the host's files are found (default: /)"},
    {"--plan", nullptr, look, "Print what would be done as JSON"},
    {"--log-level", "NAME", other, "error, warning, info or debug (default: warning)"},
    {"--log-file", "FILE", place, "A file that messages are added to (default: no file)"},
    {"--history", "FILE", other,
     "What was given, ended and refused is added to it; none: nothing (default: "
     "/var/lib/oci-gpu-hooks/history)"},
    {"--help", nullptr, action, ""},
    {"--version", nullptr, action, ""},
});

} // namespace option_use

/** The first one of that name; nullptr if no hook has it. */
constexpr const DeclaredOption *find_option(std::string_view name)
{
    const auto &all = option_use::every_option;
    const auto *const found = std::find_if(all.begin(), all.end(),
                                           [&](const DeclaredOption &option) { return option.name == name; });
    return found == all.end() ? nullptr : found;
}

/** For a hook's command line, which can have no other one: what is not declared here does not compile. */
consteval CommandLine::Option declared(std::string_view name, std::string_view hook = "")
{
    for (const DeclaredOption &option : option_use::every_option)
        if (option.name == name && option.hook == hook)
            return {option.name, option.type, option.help};
    throw "no hook has this option";
}

} // namespace ogh
