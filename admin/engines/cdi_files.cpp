// SPDX-License-Identifier: Apache-2.0
#include "engines/cdi_files.h"

#include <algorithm>
#include <optional>
#include <set>

#include "base/error.h"
#include "base/text.h"
#include "engines/document.h"
#include "kernel/folder_entries.h"
#include "registration/path_names.h"

namespace ogh::admin {

namespace {

using nlohmann::json;

void add_hooks(CdiSpec &spec, const json &object)
{
    const json *const list = find_value(object, {"containerEdits", "hooks"});
    if (list == nullptr || !list->is_array())
        return;
    for (const json &each : *list) {
        HookFile hook;
        hook.path = spec.path;
        hook.executable = text_at(each, {"path"});
        hook.args = texts_at(each, {"args"}).value_or(std::vector<std::string>{});
        hook.stages = {text_at(each, {"hookName"})};
        hook.ours = find_hook(name_of(hook.executable));
        spec.hooks.push_back(std::move(hook));
    }
}

CdiSpec read_spec(const Sysroot &sysroot, const std::string &path)
{
    CdiSpec spec;
    spec.path = path;
    try {
        const json document = read_document(sysroot, path).value_or(json::object());
        spec.version = text_at(document, {"cdiVersion"});
        spec.kind = text_at(document, {"kind"});
        if (spec.version.empty() || spec.kind.find('/') == std::string::npos)
            spec.problem = quote(path) + " has no 'cdiVersion', or no 'kind' like vendor.com/gpu";
        add_hooks(spec, document);
        const json *const devices = find_value(document, {"devices"});
        if (devices != nullptr && devices->is_array())
            for (const json &device : *devices) {
                spec.devices.push_back(text_at(device, {"name"}));
                add_hooks(spec, device);
            }
    } catch (const Error &error) {
        spec.problem = error.what();
    }
    return spec;
}

bool is_spec_name(std::string_view name)
{
    return name.ends_with(".json") || name.ends_with(".yaml");
}

} // namespace

bool CdiSpec::is_ours() const
{
    return std::any_of(hooks.begin(), hooks.end(), [](const HookFile &hook) { return hook.ours != nullptr; });
}

std::vector<CdiSpec> read_cdi_files(const Sysroot &sysroot, const std::vector<std::string> &folders)
{
    std::vector<CdiSpec> specs;
    std::set<std::string> seen;
    for (const std::string &folder : folders) {
        const auto place = sysroot.find(folder);
        if (!place || !seen.insert(place->path).second)
            continue;
        const FolderListing listing{quote(folder), is_spec_name, 0, ExitCode::Host};
        for (const FolderEntry &entry : list_folder(place->fd.get(), listing))
            specs.push_back(read_spec(sysroot, folder + "/" + entry.name));
    }
    return specs;
}

} // namespace ogh::admin
