// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>
#include <vector>

#include "engines/toml_file.h"
#include "promise.h"
#include "target.h"

namespace ogh::fuzz::engine_config {

using namespace ogh::admin;

void check(std::string_view input)
{
    const std::string text(input);
    using Names = std::vector<std::string>;
    for (const Names &list : {Names{"engine", "hooks_dir"}, Names{"crio", "runtime", "hooks_dir"}}) {
        const auto texts = attempt([&] { return texts_of(find_in(parse_toml(text), list)); });
        require(texts.value || texts.kind == ErrorKind::BrokenHost, "what is wrong is the host's fault");
        if (!texts.value)
            continue;
        // TOML is text, and the library is not to be trusted with that.
        require(is_utf8(text), "no text");
        require(std::all_of(texts.value->begin(), texts.value->end(), is_utf8), "a value is no text");
    }
}

} // namespace ogh::fuzz::engine_config
