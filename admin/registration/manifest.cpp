// SPDX-License-Identifier: Apache-2.0
#include "registration/manifest.h"

#include <algorithm>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/contains.h"
#include "base/error.h"
#include "base/json.h"
#include "base/text.h"
#include "host/host_file.h"

namespace ogh::admin {

using nlohmann::json;

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(InstalledFile, path, hash, engines, hook, options, part, before)

namespace {

std::string first_line(const std::string &name)
{
    return "# Written by oci-gpu-hooks install: " + name + ", up to the line that says its end.\n";
}

std::string last_line_of(const std::string &name)
{
    return "# The end of what oci-gpu-hooks install has written: " + name + ".\n";
}

/** Where the part begins, and how long it is. */
std::optional<std::pair<size_t, size_t>> find_part(const std::string &text, const std::string &name)
{
    const std::string last = last_line_of(name);
    const std::string lines =
        "\n" + text; // each has a line break in front of it, and begins where that stands here
    const size_t begin = lines.find("\n" + first_line(name));
    const size_t end = lines.find("\n" + last);
    if (begin == std::string::npos && end == std::string::npos)
        return std::nullopt;
    if (begin == std::string::npos || end == std::string::npos || end < begin)
        throw Error(ErrorKind::BrokenHost,
                    "of the two lines around what was written for " + quote(name) +
                        " one is missing: remove the other one, and what belongs to it");
    return std::pair(begin, end + last.size() - begin);
}

constexpr size_t max_manifest_size = size_t{1} << 20U;
constexpr size_t max_written_files = 256; // a few for each engine; each is read, and compared with others

} // namespace

std::string marked(const std::string &name, const std::string &text)
{
    return first_line(name) + text + last_line_of(name);
}

std::optional<std::string> part_in(const std::string &text, const std::string &name)
{
    const auto place = find_part(text, name);
    return place ? std::optional(text.substr(place->first, place->second)) : std::nullopt;
}

std::string with_part(const std::string &text, const std::string &name, const std::string &part)
{
    std::string changed = text;
    if (const auto place = find_part(text, name))
        return changed.replace(place->first, place->second, part);
    if (!part.empty() && !text.empty() && text.back() != '\n')
        changed += '\n';
    return changed + part;
}

std::string kept_path(const InstalledFile &file)
{
    return kept_directory + file.path + (file.part.empty() ? "" : "." + file.part);
}

Manifest Manifest::read(const Sysroot &sysroot)
{
    const auto text = read_host_file(sysroot, path, max_manifest_size);
    return text ? parse(*text, path) : Manifest();
}

Manifest Manifest::parse(std::string_view text, const std::string &file)
{
    const std::string what = "the list of what 'install' has written (" + file + ")";
    Manifest manifest;
    try {
        const json document = parse_object(text, what.c_str());
        if (document.at("files").size() > max_written_files)
            throw Error(ErrorKind::BrokenHost,
                        what + " has more than " + std::to_string(max_written_files) + " files");
        document.at("files").get_to(manifest.files);
    } catch (const json::exception &error) {
        throw Error(ErrorKind::BrokenHost, what + " is not as 'install' writes it: " + error.what());
    } catch (const Error &error) {
        throw error.as(ErrorKind::BrokenHost);
    }
    return manifest;
}

std::string Manifest::to_text() const
{
    return json({{"files", files}}).dump(2, ' ', true, json::error_handler_t::replace) + "\n";
}

const InstalledFile *Manifest::find(std::string_view wanted, std::string_view part) const
{
    const auto found = std::find_if(files.begin(), files.end(), [&](const InstalledFile &file) {
        return file.path == wanted && file.part == part;
    });
    return found == files.end() ? nullptr : &*found;
}

void Manifest::add(InstalledFile file)
{
    const InstalledFile *const known = find(file.path, file.part);
    if (known == nullptr) {
        files.push_back(std::move(file));
        return;
    }
    std::vector<std::string> engines = known->engines;
    for (std::string &engine : file.engines)
        add_once(engines, std::move(engine));
    file.engines = std::move(engines);
    files.at(static_cast<size_t>(known - files.data())) = std::move(file);
}

} // namespace ogh::admin
