// SPDX-License-Identifier: Apache-2.0
#include "install/annotations_plan.h"

#include <string_view>

#include "base/error.h"
#include "base/text.h"
#include "request/annotations.h"

namespace ogh::admin {

namespace {

constexpr const char *head =
    R"(# Written by oci-gpu-hooks install. Before podman 4.6 the annotations of an image become the
# container's: with these defaults an image asks for nothing, and whoever calls podman still can.
# A list takes the place of those in earlier files, so what was in effect stands here as well.
[containers]
annotations = [
)";

/** A basic string of TOML. */
std::string toml_text(std::string_view text)
{
    constexpr std::string_view digits = "0123456789ABCDEF";
    std::string quoted = "\"";
    for (const char letter : text) {
        const auto byte = static_cast<unsigned char>(letter);
        if (byte < 0x20 || byte == 0x7F) {
            quoted += "\\u00";
            quoted += digits[byte >> 4U];
            quoted += digits[byte & 15U];
            continue;
        }
        if (letter == '"' || letter == '\\')
            quoted += '\\';
        quoted += letter;
    }
    return quoted + '"';
}

std::string text_of(std::vector<std::string> entries)
{
    for (const std::string &key : keys_without_default(entries))
        entries.push_back(key + "=" + std::string(absent_value));
    std::string text = head;
    for (const std::string &entry : entries)
        text += "    " + toml_text(entry) + ",\n";
    return text + "]\n";
}

} // namespace

std::optional<PlannedFile> plan_default_annotations(const InstallHost &host, const InstallRequest &request)
{
    const auto annotations = request.kind->image_annotations(*host.sysroot);
    if (!annotations)
        return std::nullopt;
    DefaultAnnotations others;
    for (const DefaultAnnotations &each : annotations->lists)
        if (each.file != default_annotations_file)
            others = each;
    const auto keys = keys_without_default(others.entries);
    const bool is_there = host.manifest.find(default_annotations_file) != nullptr;
    // One that is there stays right, whichever podman it is: it holds the lists of earlier files.
    if (!is_there && (keys.empty() || !annotations->are_taken.value_or(true)))
        return std::nullopt;
    if (others.file > default_annotations_file && !keys.empty())
        throw Error(
            ErrorKind::BrokenHost,
            quote(others.file) + " has annotations for all containers, and is read after " +
                quote(default_annotations_file) +
                ": give that file another name, or add there, each with the value '-': " + quote_list(keys));
    return planned_file(request, default_annotations_file, text_of(std::move(others.entries)), "", {});
}

} // namespace ogh::admin
