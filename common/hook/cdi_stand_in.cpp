// SPDX-License-Identifier: Apache-2.0
#include "hook/cdi_stand_in.h"

#include <algorithm>

#include "base/error.h"
#include "base/log.h"
#include "base/text.h"
#include "cdi/spec_folders.h"
#include "host/systemd_units.h"

namespace ogh {

namespace {

// Where engines look if nothing else says so. The last one is what /var/run is a link to.
const std::vector<std::string> spec_folders{"/etc/cdi", "/var/run/cdi", "/run/cdi"};

/** Each device calls it first, as in what --cdi prints. */
bool calls_hook(const cdi::Spec &spec, const std::string &hook)
{
    return std::all_of(spec.devices.begin(), spec.devices.end(), [&](const cdi::Device &device) {
        return !device.edits.hooks.empty() && device.edits.hooks.front().path.ends_with("/" + hook);
    });
}

/**
 * The paths of the others' specifications.
 * @throws Error (BrokenHost) where one cannot be read: better one refusal too many than one too few
 */
std::vector<std::string> specs_of_others(const Sysroot &sysroot, const std::string &kind,
                                         const std::string &hook)
{
    Notes notes;
    std::vector<std::string> found;
    const auto is_of_kind = [&](std::string_view each, std::string_view /*name*/) { return each == kind; };
    for (const cdi::SpecFile &file : cdi::read_folders(sysroot, spec_folders, is_of_kind, notes))
        if (file.spec.kind == kind && !calls_hook(file.spec, hook))
            found.push_back(file.path);
    for (const Note &note : notes)
        if (note.level == LogLevel::Warning)
            throw Error(ErrorKind::BrokenHost, note.text + ", and may have devices of " + quote(kind) +
                                                   " for engines: mend it, or remove it");
    return found;
}

} // namespace

void check_stand_in(const Sysroot &sysroot, const VendorCdi &vendor, const std::string &hook)
{
    const std::string why = ", and engines would take them from there or, in one folder, from neither; ";
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
