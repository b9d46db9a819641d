// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>

#include <nlohmann/json.hpp>

#include "engines/document.h"
#include "engines/toml_file.h"
#include "promise.h"
#include "target.h"

namespace ogh::fuzz {

using namespace ogh::admin;

namespace {

void check_toml(const std::string &text)
{
    const auto file = attempt([&] { return TomlFile::parse("/etc/x.conf", text); });
    require(file.value || file.kind == ErrorKind::BrokenHost, "what is wrong is the host's fault");
    if (!file.value)
        return;
    require(is_utf8(text), "no text");
    const auto names = file.value->keys("");
    for (const std::string &name : names)
        require(is_utf8(name), "a name is no text");
    require(std::is_sorted(names.begin(), names.end()), "names are sorted");
    require(file.value->to_json().size() == names.size(), "a name is lost");
    for (const std::string &table : file.value->tables_with("hooks_dir"))
        if (table.empty())
            require(std::find(names.begin(), names.end(), "hooks_dir") != names.end(),
                    "a table that is none");
    static_cast<void>(file.value->strings("crio.runtime", "hooks_dir"));
    static_cast<void>(file.value->flag("crio.runtime", "hooks_dir"));
}

} // namespace

void check(std::string_view input)
{
    const std::string text(input);
    check_toml(text);
    for (const char *const path : {"/etc/x.conf", "/etc/x.json", "/etc/x.yaml"}) {
        const auto document = attempt([&] { return parse_document(path, text); });
        require(document.value || document.kind == ErrorKind::BrokenHost,
                "what is wrong is the host's fault");
        if (!document.value)
            continue;
        const std::string runtime = text_at(*document.value, {"engine", "runtime"});
        require(runtime.size() <= text.size(), "a text is longer than the file");
        static_cast<void>(texts_at(*document.value, {"engine", "hooks_dir"}));
    }
}

} // namespace ogh::fuzz
