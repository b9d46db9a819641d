// SPDX-License-Identifier: Apache-2.0
#include <string>

#include <nlohmann/json.hpp>

#include "engines/document.h"
#include "promise.h"
#include "target.h"

namespace ogh::fuzz {

using namespace ogh::admin;

namespace {

/** All names in it, and all texts. */
void check_texts(const nlohmann::json &value)
{
    for (const auto &[name, inner] : value.items()) {
        require(is_utf8(name), "a name is no text");
        if (inner.is_string())
            require(is_utf8(inner.get<std::string>()), "a value is no text");
        if (inner.is_structured())
            check_texts(inner);
    }
}

} // namespace

void check(std::string_view input)
{
    const std::string text(input);
    for (const char *const path : {"/etc/x.conf", "/etc/x.json", "/etc/x.yaml"}) {
        const auto document = attempt([&] { return parse_document(path, text); });
        require(document.value || document.kind == ErrorKind::BrokenHost,
                "what is wrong is the host's fault");
        if (!document.value)
            continue;
        if (std::string_view(path).ends_with(
                ".conf")) { // TOML is text, and the library is not to be trusted with that
            require(is_utf8(text), "no text");
            check_texts(*document.value);
        }
        const std::string runtime = text_at(*document.value, {"engine", "runtime"});
        require(runtime.size() <= text.size(), "a text is longer than the file");
        static_cast<void>(texts_at(*document.value, {"engine", "hooks_dir"}));
        static_cast<void>(flag_at(*document.value, {"features", "cdi"}));
        static_cast<void>(members_at(*document.value, {"runtimes"}));
    }
}

} // namespace ogh::fuzz
