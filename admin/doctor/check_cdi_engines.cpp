// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "base/error.h"
#include "base/path_names.h"
#include "base/text.h"
#include "doctor/check_cdi.h"
#include "doctor/check_vendors.h"
#include "engines/document.h"
#include "engines/programs.h"

namespace ogh::admin {

namespace {

using nlohmann::json;

/** What one engine says of CDI. */
struct CdiOption {
    std::optional<bool> enabled;
    bool is_on_by_default; ///< in each version with such a configuration
    std::optional<std::vector<std::string>> folders;
    const char *remedy;
};

std::optional<bool> flag_at(const json &document, const std::vector<std::string> &names)
{
    const json *const value = find_value(document, names);
    return value != nullptr && value->is_boolean() ? std::optional(value->get<bool>()) : std::nullopt;
}

/** dockerd(8), "features" and "cdi-spec-dirs" of daemon.json. */
CdiOption docker_option(const json &document)
{
    return {flag_at(document, {"features", "cdi"}), false, texts_at(document, {"cdi-spec-dirs"}),
            R"(have {"features": {"cdi": true}} in /etc/docker/daemon.json, and restart docker)"};
}

/** containerd 1.7 (version 2 of its configuration) and 2 (version 3) name their plugins otherwise. */
const std::vector<std::vector<std::string>> cri_plugins{{"plugins", "io.containerd.grpc.v1.cri"},
                                                        {"plugins", "io.containerd.cri.v1.runtime"}};

std::vector<std::string> below(std::vector<std::string> names, const std::vector<std::string> &more)
{
    names.insert(names.end(), more.begin(), more.end());
    return names;
}

CdiOption containerd_option(const json &document)
{
    CdiOption option{
        {}, true, {}, "have enable_cdi = true in /etc/containerd/config.toml, below the CRI plugin"};
    const json *const version = find_value(document, {"version"});
    option.is_on_by_default =
        version == nullptr || (version->is_number_integer() && version->get<int>() >= 3);
    for (const auto &plugin : cri_plugins) {
        if (const auto enabled = flag_at(document, below(plugin, {"enable_cdi"})))
            option.enabled = enabled;
        if (const auto folders = texts_at(document, below(plugin, {"cdi_spec_dirs"})))
            option.folders = folders;
    }
    return option;
}

Findings check_option(const CdiOption &option, const std::vector<CdiSpec> &ours)
{
    if (ours.empty())
        return {{Severity::Note,
                 "it calls no hooks by itself, and no CDI specification of this collection is there", ""}};
    if (option.enabled == false)
        return {{Severity::Error, "CDI is switched off: it gives nothing of what the specifications name",
                 option.remedy}};
    if (!option.enabled && !option.is_on_by_default)
        return {{Severity::Warning, "CDI is not switched on, which not every version does by itself",
                 option.remedy}};
    Findings findings;
    for (const CdiSpec &spec : ours) {
        const std::string folder = folder_of(spec.path);
        const auto &read = option.folders;
        if (read && std::find(read->begin(), read->end(), folder) == read->end())
            findings.push_back(
                {Severity::Error,
                 quote(spec.path) + " is in none of the folders that it reads: " + quote_list(*read),
                 "put the file into one of these"});
    }
    if (findings.empty())
        findings.push_back({Severity::Ok, "it gives the devices of the CDI specifications", ""});
    return findings;
}

std::vector<CdiSpec> specs_of_ours(const Sysroot &sysroot, const CdiOption &option)
{
    std::vector<std::string> folders = default_cdi_folders;
    if (option.folders)
        folders.insert(folders.end(), option.folders->begin(), option.folders->end());
    std::vector<CdiSpec> specs = read_cdi_files(sysroot, folders);
    specs.erase(
        std::remove_if(specs.begin(), specs.end(), [](const CdiSpec &spec) { return !spec.is_ours(); }),
        specs.end());
    return specs;
}

Section check(const Sysroot &sysroot, const char *name, const std::string &file,
              CdiOption (*option_of_file)(const json &), Runtimes (*runtimes_of_file)(const json &))
{
    Section section{name, {}};
    try {
        const json document = read_document(sysroot, file).value_or(json::object());
        const CdiOption option = option_of_file(document);
        add(section.findings, check_option(option, specs_of_ours(sysroot, option)));
        add(section.findings, check_runtimes(runtimes_of_file(document), file));
    } catch (const Error &error) {
        section.findings.push_back(
            {Severity::Error, error.what(), "mend the file: " + section.title + " does not start like this"});
    }
    return section;
}

} // namespace

std::vector<Section> check_cdi_engines(const Sysroot &sysroot)
{
    std::vector<Section> sections;
    if (find_program(sysroot, "dockerd"))
        sections.push_back(
            check(sysroot, "docker", "/etc/docker/daemon.json", docker_option, runtimes_of_docker));
    if (find_program(sysroot, "containerd"))
        sections.push_back(check(sysroot, "containerd", "/etc/containerd/config.toml", containerd_option,
                                 runtimes_of_containerd));
    return sections;
}

} // namespace ogh::admin
