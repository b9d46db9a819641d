// SPDX-License-Identifier: Apache-2.0
#include "listing/cdi_stand_in.h"

#include <dirent.h>

#include <algorithm>
#include <array>

#include "base/contains.h"
#include "base/error.h"
#include "base/text.h"
#include "cdi/spec_parser.h"
#include "host/host_file.h"
#include "host/systemd_units.h"
#include "kernel/directory_entries.h"

namespace ogh {

namespace {

// Where engines look if nothing else says so. The last one is what /var/run is a link to.
constexpr std::array<std::string_view, 3> spec_directories{"/etc/cdi", "/var/run/cdi", "/run/cdi"};

constexpr size_t max_spec_size = size_t{1} << 22U; // that of a server with hundreds of parts has 0.2 MB

/** Each device calls it first, as in what --cdi prints. */
bool calls_hook(const cdi::Spec &spec, const std::string &hook)
{
    return std::all_of(spec.devices.begin(), spec.devices.end(), [&](const cdi::Device &device) {
        return !device.edits.hooks.empty() && device.edits.hooks.front().path.ends_with("/" + hook);
    });
}

/** What cannot be read counts where it names the kind: better one refusal too many than one too few. */
bool is_of_others(std::string_view text, const std::string &kind, const std::string &hook)
{
    try {
        const cdi::Spec spec = cdi::parse_spec(text);
        return spec.kind == kind && !calls_hook(spec, hook);
    } catch (const Error &) {
        return text.find(kind) != std::string_view::npos;
    }
}

bool may_be_spec(const DirectoryEntry &entry)
{
    return entry.type != DT_DIR && (entry.name.ends_with(".json") || entry.name.ends_with(".yaml"));
}

/** The paths of the others' specifications, each once. */
std::vector<std::string> specs_of_others(const Sysroot &sysroot, const std::string &kind,
                                         const std::string &hook)
{
    std::vector<std::string> found;
    for (const std::string_view each : spec_directories) {
        const auto directory = sysroot.find(each);
        if (!directory)
            continue;
        const DirectoryListing all{quote(each), [](std::string_view) { return true; }, 0,
                                   ErrorKind::BrokenHost};
        for (const DirectoryEntry &entry : list_directory(directory->fd.get(), all)) {
            const std::string path = directory->path + "/" + entry.name;
            const auto place = may_be_spec(entry) ? sysroot.find(path) : std::nullopt;
            const auto text = place ? read_host_file(sysroot, place->path, max_spec_size) : std::nullopt;
            if (text && !contains(found, path) && is_of_others(*text, kind, hook))
                found.push_back(path);
        }
    }
    return found;
}

} // namespace

void check_stand_in(const Sysroot &sysroot, const VendorCdi &vendor, const std::string &hook)
{
    const std::string why = ", and engines would take them from there or, in one directory, from neither; ";
    if (const auto specs = specs_of_others(sysroot, vendor.kind, hook); !specs.empty())
        throw Error(ErrorKind::BrokenHost, quote_list(specs) + (specs.size() == 1 ? " has" : " have") +
                                               " devices of " + quote(vendor.kind) + " as well" + why +
                                               "remove what is not to give them: rm " +
                                               printable(specs.front()));
    std::string enabled;
    for (const std::string &unit : vendor.refresh_units)
        if (is_enabled_unit(sysroot, unit))
            enabled += " " + unit;
    if (!enabled.empty())
        throw Error(ErrorKind::BrokenHost, "the vendor's" + enabled +
                                               " is enabled, which makes a specification of " +
                                               quote(vendor.kind) + " as well" + why +
                                               "switch it off: systemctl disable --now" + enabled);
}

} // namespace ogh
