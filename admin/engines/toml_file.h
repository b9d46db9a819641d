// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "host/sysroot.h"

namespace ogh::admin {

/** A configuration file of an engine's, TOML 1.0. Behind it is a library of headers that takes long to compile. */
class TomlFile final {
public:
    /** @throws Error (BrokenHost) if it cannot be read, or is no TOML; nothing if it does not exist */
    static std::optional<TomlFile> read(const Sysroot &sysroot, const std::string &path);

    /** @param path for messages. @throws Error (BrokenHost) if it is no TOML, or is nested deeper than anybody needs */
    static TomlFile parse(const std::string &path, const std::string &text);

    TomlFile(TomlFile &&) noexcept;
    TomlFile &operator=(TomlFile &&) noexcept;
    TomlFile(const TomlFile &) = delete;
    TomlFile &operator=(const TomlFile &) = delete;
    ~TomlFile();

    [[nodiscard]] const std::string &path() const { return path_; }

    /**
     * The strings of a list; what else is in it is left out.
     * @param table dotted, "crio.runtime"; "" is the whole file
     * @return nothing if it is not there, or is no list
     */
    [[nodiscard]] std::optional<std::vector<std::string>> strings(const std::string &table,
                                                                  const std::string &key) const;

    [[nodiscard]] std::optional<bool> flag(const std::string &table, const std::string &key) const;

    /** The names in a table, sorted. */
    [[nodiscard]] std::vector<std::string> keys(const std::string &table) const;

    /** The tables, dotted, in which there is this key; "" is the file itself. */
    [[nodiscard]] std::vector<std::string> tables_with(const std::string &key) const;

    /** All of it but dates and times: names with dots in them cannot be said in the questions above. */
    [[nodiscard]] nlohmann::json to_json() const;

private:
    struct Content;

    TomlFile(std::string path, std::unique_ptr<Content> content);

    std::string path_;
    std::unique_ptr<Content> content_;
};

} // namespace ogh::admin
