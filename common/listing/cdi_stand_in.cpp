// SPDX-License-Identifier: Apache-2.0
#include "listing/cdi_stand_in.h"

#include <dirent.h>

#include <algorithm>
#include <array>

#include <nlohmann/json.hpp>

#include "base/contains.h"
#include "base/error.h"
#include "base/json.h"
#include "base/letters.h"
#include "base/text.h"
#include "host/host_file.h"
#include "host/systemd_units.h"
#include "kernel/directory_entries.h"

namespace ogh {

namespace {

using nlohmann::json;

// Where engines look if nothing else says so. The last one is what /var/run is a link to.
constexpr std::array<std::string_view, 3> spec_directories{"/etc/cdi", "/var/run/cdi", "/run/cdi"};

constexpr size_t max_spec_size = size_t{1} << 22U; // that of a server with hundreds of parts has 0.2 MB

std::optional<json> parse_json(std::string_view text)
{
    try {
        return parse_object(text, "a CDI specification");
    } catch (const Error &) {
        return std::nullopt; // it may be YAML
    }
}

std::string_view unquoted(std::string_view text)
{
    const bool is_quoted =
        text.size() >= 2 && (text.front() == '"' || text.front() == '\'') && text.back() == text.front();
    return is_quoted ? text.substr(1, text.size() - 2) : text;
}

/** What stands behind `kind:` in a line without indentation. */
std::optional<std::string> kind_in_yaml_line(std::string_view line)
{
    const size_t colon = line.find(':');
    if (colon == std::string_view::npos || line.starts_with(' ') ||
        !is_same_word(unquoted(trimmed(line.substr(0, colon))), "kind"))
        return std::nullopt;
    std::string_view value = line.substr(colon + 1);
    value = unquoted(trimmed(value.substr(0, std::min(value.find(" #"), value.find_first_of("\r\n")))));
    const bool is_plain = std::all_of(value.begin(), value.end(), [](char c) {
        return is_letter_or_digit(c) || std::string_view("/._-").find(c) != std::string_view::npos;
    });
    return is_plain && !value.empty() ? std::optional(std::string(value)) : std::nullopt;
}

/** Where the kind cannot be told, whatever names it counts: better one refusal too many than one too few. */
bool is_of_kind(std::string_view text, const std::string &kind)
{
    const auto found = cdi_kind_of(text);
    return found ? *found == kind : text.find(kind) != std::string_view::npos;
}

/** Each device calls it first, as in what --cdi prints. */
bool calls_hook(std::string_view text, const std::string &hook)
{
    const auto document = parse_json(text);
    if (!document)
        return false;
    const json devices = document->value("devices", json::array());
    return devices.is_array() && !devices.empty() &&
           std::all_of(devices.begin(), devices.end(), [&](const json &device) {
               const json::json_pointer first("/containerEdits/hooks/0/path");
               return device.contains(first) && device.at(first).is_string() &&
                      device.at(first).get_ref<const std::string &>().ends_with("/" + hook);
           });
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
            const bool is_known = contains(found, path);
            if (text && !is_known && is_of_kind(*text, kind) && !calls_hook(*text, hook))
                found.push_back(path);
        }
    }
    return found;
}

} // namespace

std::optional<std::string> cdi_kind_of(std::string_view text)
{
    if (const auto document = parse_json(text)) {
        for (const auto &[key, value] : document->items())
            if (is_same_word(key, "kind") && value.is_string())
                return value.get<std::string>();
        return std::nullopt;
    }
    while (!text.empty()) {
        const size_t end = std::min(text.find('\n'), text.size() - 1);
        if (auto kind = kind_in_yaml_line(text.substr(0, end + 1)))
            return kind;
        text.remove_prefix(end + 1);
    }
    return std::nullopt;
}

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
