// SPDX-License-Identifier: Apache-2.0
#include "engines/toml_file.h"

#include "base/error.h"

namespace ogh::admin {

namespace {

/** What the library takes for granted, and files such as "[=" break: it would end the process. @throws Error (BrokenHost) */
[[noreturn]] void refuse_toml()
{
    throw Error(ErrorKind::BrokenHost, "it is no TOML");
}

} // namespace

} // namespace ogh::admin

// Both may be set before it is included. It walks recursively through what is nested.
#define TOML_ASSERT(expr) ((expr) ? static_cast<void>(0) : ::ogh::admin::refuse_toml())
#define TOML_MAX_NESTED_VALUES 16
#include <toml++/toml.h>

#include <algorithm>
#include <string_view>

#include "base/letters.h"
#include "base/text.h"
#include "host/host_file.h"

namespace ogh::admin {

namespace {

/**
 * Each dot in a name is a table within a table, and these the library does not count. Names end with their lines. It is
 * not looked at where a string or a comment begins, so that nothing can go wrong with that.
 */
void check_dots(const std::string &text)
{
    constexpr std::ptrdiff_t most = 100;
    for (auto line = text.begin(); line != text.end();) {
        const auto end = std::find(line, text.end(), '\n');
        if (std::count(line, end, '.') > most)
            throw Error(ErrorKind::BrokenHost, "it has more than " + std::to_string(most) + " dots in line " +
                                                   std::to_string(1 + std::count(text.begin(), line, '\n')));
        line = end == text.end() ? end : std::next(end);
    }
}

constexpr char lead = '\xee'; // of U+E000 to U+EFFF in UTF-8, which are for private use

/**
 * What the library makes of a character beyond ASCII outside of strings is undefined for most of them (up to its version
 * 3.3 at least, is_non_ascii_horizontal_whitespace). So it is given each of their bytes as U+E000 and the byte, of which
 * it says what TOML says: nowhere but in strings and comments.
 * @throws Error (BrokenHost) if it is no UTF-8, or has escapes for these characters
 */
std::string in_disguise(const std::string &text)
{
    std::string small(text);
    std::transform(small.begin(), small.end(), small.begin(), to_lower);
    if (as_utf8(text) != text || small.find("\\ue0") != std::string::npos ||
        small.find("\\u0000e0") != std::string::npos)
        refuse_toml();
    std::string disguised;
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        if (byte < 0x80)
            disguised += c;
        else
            disguised +=
                {lead, static_cast<char>(0x80U | (byte >> 6U)), static_cast<char>(0x80U | (byte & 0x3fU))};
    }
    return disguised;
}

std::string as_it_was(std::string_view disguised)
{
    std::string text;
    for (size_t i = 0; i < disguised.size(); ++i) {
        if (disguised[i] != lead || i + 2 >= disguised.size()) {
            text += disguised[i];
            continue;
        }
        const auto high = static_cast<unsigned char>(disguised[i + 1]);
        const auto low = static_cast<unsigned char>(disguised[i + 2]);
        text += static_cast<char>(((high & 3U) << 6U) | (low & 0x3fU));
        i += 2;
    }
    return text;
}

/** What is no text, number or truth value is a date or a time, and stays a text that says nothing. */
nlohmann::json as_json(const toml::node &node)
{
    nlohmann::json value = "";
    if (const auto *const table = node.as_table()) {
        value = nlohmann::json::object();
        for (const auto &[key, member] : *table)
            value[as_it_was(key.str())] = as_json(member);
    } else if (const auto *const list = node.as_array()) {
        value = nlohmann::json::array();
        for (const toml::node &each : *list)
            value.push_back(as_json(each));
    } else if (const auto *const text = node.as_string()) {
        value = as_it_was(text->get());
    } else if (const auto *const flag = node.as_boolean()) {
        value = flag->get();
    } else if (const auto *const number = node.as_integer()) {
        value = number->get();
    } else if (const auto *const fraction = node.as_floating_point()) {
        value = fraction->get();
    }
    return value;
}

} // namespace

nlohmann::json parse_toml(const std::string &toml)
{
    try {
        check_dots(toml);
        return as_json(toml::parse(in_disguise(toml)));
    } catch (const toml::parse_error &error) {
        throw Error(ErrorKind::BrokenHost, "it is no TOML, line " +
                                               std::to_string(error.source().begin.line) + ": " +
                                               printable(as_it_was(error.description())));
    }
}

std::optional<nlohmann::json> read_toml(const Sysroot &sysroot, const std::string &path,
                                        std::optional<std::string> text)
{
    // Engines' own examples have 0.03 MB, and the library takes a second for a table of a megabyte that was made for it.
    constexpr size_t most = size_t{1} << 18U;
    if (const auto place = text ? std::nullopt : sysroot.find(path))
        text = read_host_file(sysroot, place->path, most);
    try {
        return text ? std::optional(parse_toml(*text)) : std::nullopt;
    } catch (const Error &error) {
        throw Error(ErrorKind::BrokenHost, quote(path) + ": " + error.what());
    }
}

const nlohmann::json *find_in(const nlohmann::json &document, const std::vector<std::string> &names)
{
    const nlohmann::json *found = &document;
    for (const std::string &name : names) {
        const auto member = found->find(name); // the end of what is no table
        if (member == found->end())
            return nullptr;
        found = &*member;
    }
    return found;
}

std::vector<std::string> texts_of(const nlohmann::json *list)
{
    std::vector<std::string> texts;
    if (list == nullptr || !list->is_array())
        return texts;
    for (const nlohmann::json &each : *list)
        if (each.is_string())
            texts.push_back(each.get<std::string>());
    return texts;
}

} // namespace ogh::admin
