// SPDX-License-Identifier: Apache-2.0
#include "engines/toml_file.h"

#include <toml++/toml.h>

#include <functional>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/text.h"
#include "host/host_file.h"

namespace ogh::admin {

namespace {

constexpr size_t max_toml_size = size_t{1} << 20U;

const toml::table *find_table(const toml::table &document, const std::string &table)
{
    return table.empty() ? &document : document.at_path(table).as_table();
}

nlohmann::json convert(const toml::node &node)
{
    if (const toml::table *const table = node.as_table()) {
        nlohmann::json object = nlohmann::json::object();
        for (const auto &[key, value] : *table)
            object[std::string(key.str())] = convert(value);
        return object;
    }
    if (const toml::array *const array = node.as_array()) {
        nlohmann::json list = nlohmann::json::array();
        for (const toml::node &each : *array)
            list.push_back(convert(each));
        return list;
    }
    if (const auto *const text = node.as_string())
        return text->get();
    if (const auto *const flag = node.as_boolean())
        return flag->get();
    if (const auto *const number = node.as_integer())
        return number->get();
    return nullptr;
}

} // namespace

struct TomlFile::Content {
    toml::table document;
};

TomlFile::TomlFile(std::string path, std::unique_ptr<Content> content)
    : path_(std::move(path)), content_(std::move(content))
{
}

TomlFile::TomlFile(TomlFile &&) noexcept = default;
TomlFile &TomlFile::operator=(TomlFile &&) noexcept = default;
TomlFile::~TomlFile() = default;

std::optional<TomlFile> TomlFile::read(const Sysroot &sysroot, const std::string &path)
{
    const auto place = sysroot.find(path);
    const auto text = place ? read_host_file(sysroot, place->path, max_toml_size) : std::nullopt;
    if (!text)
        return std::nullopt;
    try {
        return TomlFile(path, std::make_unique<Content>(Content{toml::parse(*text)}));
    } catch (const toml::parse_error &error) {
        throw Error(ExitCode::Host, quote(path) + " is no TOML, line " +
                                        std::to_string(error.source().begin.line) + ": " +
                                        std::string(error.description()));
    }
}

std::optional<std::vector<std::string>> TomlFile::strings(const std::string &table,
                                                          const std::string &key) const
{
    const toml::table *const found = find_table(content_->document, table);
    const toml::array *const list = found == nullptr ? nullptr : (*found)[key].as_array();
    if (list == nullptr)
        return std::nullopt;
    std::vector<std::string> strings;
    for (const toml::node &each : *list)
        if (const auto text = each.value<std::string>())
            strings.push_back(*text);
    return strings;
}

std::optional<bool> TomlFile::flag(const std::string &table, const std::string &key) const
{
    const toml::table *const found = find_table(content_->document, table);
    return found == nullptr ? std::nullopt : (*found)[key].value<bool>();
}

std::vector<std::string> TomlFile::keys(const std::string &table) const
{
    std::vector<std::string> names;
    if (const toml::table *const found = find_table(content_->document, table))
        for (const auto &[key, value] : *found)
            names.emplace_back(key.str());
    return names;
}

std::vector<std::string> TomlFile::tables_with(const std::string &key) const
{
    std::vector<std::string> found;
    const std::function<void(const toml::table &, const std::string &)> look = [&](const toml::table &table,
                                                                                   const std::string &name) {
        if (table.contains(key))
            found.push_back(name);
        for (const auto &[inner, value] : table)
            if (const toml::table *const below = value.as_table())
                look(*below, name.empty() ? std::string(inner.str()) : name + "." + std::string(inner.str()));
    };
    look(content_->document, "");
    return found;
}

nlohmann::json TomlFile::to_json() const
{
    return convert(content_->document);
}

} // namespace ogh::admin
