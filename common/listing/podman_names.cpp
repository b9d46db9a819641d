// SPDX-License-Identifier: Apache-2.0
#include "listing/podman_names.h"

#include <fcntl.h>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/root_file.h"
#include "base/text.h"
#include "kernel/openat2.h"

namespace ogh {

namespace {

using nlohmann::json;

constexpr size_t max_file = size_t{16} << 20U;

std::string image_of(const json &container)
{
    const std::string metadata = text_member(container, "metadata");
    if (metadata.empty())
        return "";
    constexpr const char *name = "image-name";
    return text_member(parse_object(metadata, "metadata"), name);
}

/** "STORAGE" of "STORAGE/ID/userdata"; "" of any other bundle. */
std::string storage_of(const std::string &bundle, const std::string &id)
{
    const std::string end = "/" + id + "/userdata";
    const std::string storage = bundle.ends_with(end) ? bundle.substr(0, bundle.size() - end.size()) : "";
    return storage.starts_with('/') && storage.ends_with("-containers") ? storage : "";
}

std::map<std::string, PodmanName> read_names(const std::string &path)
try {
    const auto file = find_path(AT_FDCWD, path, O_RDONLY, Walk::NoSymlinks, quote(path));
    if (!file)
        return {};
    check_root_file(file->get(), 0644, quote(path));
    return parse_podman_names(read_all(file->get(), max_file, quote(path)));
} catch (const Error &) {
    return {};
}

} // namespace

std::map<std::string, PodmanName> parse_podman_names(std::string_view text)
{
    const json document = parse_object("{\"containers\":" + std::string(text) + "}", "containers.json");
    std::map<std::string, PodmanName> names;
    for (const json &container : document.at("containers")) {
        const json *const list = container.is_object() ? find_member(container, "names") : nullptr;
        const bool has_name =
            list != nullptr && list->is_array() && !list->empty() && list->front().is_string();
        names[text_member(container, "id")] = {has_name ? list->front().get<std::string>() : "",
                                               image_of(container)};
    }
    return names;
}

void add_podman_names(LeaseList &leases)
{
    std::map<std::string, std::map<std::string, PodmanName>> known; // by directory
    for (LeaseEntry &entry : leases.entries) {
        const std::string storage = storage_of(entry.label.bundle, entry.container);
        if (storage.empty() || !entry.label.name.empty())
            continue;
        const auto [place, is_new] = known.try_emplace(storage);
        if (is_new) {
            place->second = read_names(storage + "/containers.json");
            place->second.merge(read_names(storage + "/volatile-containers.json"));
        }
        const auto found = place->second.find(entry.container);
        if (found == place->second.end())
            continue;
        entry.label.name = found->second.name;
        entry.label.image = found->second.image;
    }
}

} // namespace ogh
