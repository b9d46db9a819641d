// SPDX-License-Identifier: Apache-2.0
#include <string>

#include "engines/cdi_files.h"
#include "promise.h"
#include "target.h"

namespace ogh::fuzz {

using namespace ogh::admin;

void check(std::string_view input)
{
    const std::string text(input);
    for (const char *const path : {"/etc/cdi/x.json", "/etc/cdi/x.yaml"}) {
        const CdiSpec spec = parse_cdi_file(path, text);
        require(spec.path == path, "another path");
        if (!spec.problem.empty()) {
            require(is_one_clean_line(spec.problem), "a problem is one clean line");
            continue;
        }
        require(spec.kind.find('/') != std::string::npos, "a specification of nothing");
        require(spec.hooks.size() <= 1024, "the limits are kept");
        bool is_ours = false;
        for (const HookFile &hook : spec.hooks)
            is_ours = is_ours || hook.ours != nullptr;
        require(spec.is_ours() == is_ours, "ours is what calls a hook of ours");
    }
}

} // namespace ogh::fuzz
