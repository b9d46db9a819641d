// SPDX-License-Identifier: Apache-2.0
#include "engines/cdi_files.h"

#include <algorithm>
#include <optional>
#include <set>

#include "base/error.h"
#include "base/path_names.h"
#include "base/text.h"
#include "engines/document.h"
#include "host/host_file.h"
#include "kernel/folder_entries.h"

namespace ogh::admin {

namespace {

using nlohmann::json;

// A specification of a server with hundreds of parts has 0.2 MB and a hook for each of some devices.
constexpr size_t max_spec_size = size_t{1} << 22U;
constexpr size_t max_specs_size = size_t{1} << 26U; // of all files
constexpr size_t max_spec_files = 4096;             // of a folder: some drivers write one for each container
constexpr size_t max_hooks = 1024;                  // of a file

void add_hooks(CdiSpec &spec, const json &object)
{
    const json *const list = find_value(object, {"containerEdits", "hooks"});
    if (list == nullptr || !list->is_array())
        return;
    for (const json &each : *list) {
        if (spec.hooks.size() == max_hooks)
            throw Error(ErrorKind::BrokenHost,
                        quote(spec.path) + " has more than " + std::to_string(max_hooks) + " hooks");
        HookFile hook;
        hook.path = spec.path;
        hook.executable = text_at(each, {"path"});
        hook.args = texts_at(each, {"args"}).value_or(std::vector<std::string>{});
        hook.ours = find_hook(file_name_of(hook.executable));
        spec.hooks.push_back(std::move(hook));
    }
}

void read_devices(CdiSpec &spec, const json &document)
{
    const json *const devices = find_value(document, {"devices"});
    if (devices == nullptr || !devices->is_array())
        return;
    spec.devices = devices->size();
    for (const json &device : *devices)
        add_hooks(spec, device);
}

/** @param left how many bytes may still be read */
CdiSpec read_spec(const Sysroot &sysroot, const std::string &path, size_t &left)
{
    CdiSpec spec;
    spec.path = path;
    try {
        if (left == 0)
            throw Error(ErrorKind::BrokenHost,
                        quote(path) + " is not read: the files before it are too large");
        const auto place = sysroot.find(path);
        const auto text = place ? read_host_file(sysroot, place->path, max_spec_size) : std::nullopt;
        if (!text)
            throw Error(ErrorKind::BrokenHost, quote(path) + " is a symlink that leads nowhere");
        left -= std::min(left, text->size());
        return parse_cdi_file(path, *text);
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

CdiSpec parse_cdi_file(const std::string &path, const std::string &text)
{
    CdiSpec spec;
    spec.path = path;
    try {
        const json document = parse_document(path, text);
        spec.kind = text_at(document, {"kind"});
        if (text_at(document, {"cdiVersion"}).empty() || spec.kind.find('/') == std::string::npos)
            spec.problem = quote(path) + " has no 'cdiVersion', or no 'kind' like vendor.com/gpu";
        add_hooks(spec, document);
        read_devices(spec, document);
    } catch (const Error &error) {
        spec.problem = error.what();
    }
    return spec;
}

bool CdiSpec::is_ours() const
{
    return std::any_of(hooks.begin(), hooks.end(), [](const HookFile &hook) { return hook.ours != nullptr; });
}

std::vector<CdiSpec> read_cdi_files(const Sysroot &sysroot)
{
    std::vector<CdiSpec> specs;
    std::set<std::string> seen;
    size_t left = max_specs_size;
    for (const std::string folder : {"/etc/cdi", "/var/run/cdi"}) {
        const auto place = sysroot.find(folder);
        if (!place || !seen.insert(place->path).second)
            continue;
        const FolderListing listing{quote(folder), is_spec_name, max_spec_files, ErrorKind::BrokenHost};
        for (const FolderEntry &entry : list_folder(place->fd.get(), listing))
            specs.push_back(read_spec(sysroot, folder + "/" + entry.name, left));
    }
    return specs;
}

} // namespace ogh::admin
