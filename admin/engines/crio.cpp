// SPDX-License-Identifier: Apache-2.0
#include "engines/hooks_dir.h"

namespace ogh::admin {

namespace {

/** CRI-O: crio.conf(5). */
class Crio final : public HooksDirKind {
public:
    Crio()
        : HooksDirKind("crio", {"crio.runtime",
                                {"/etc/crio/crio.conf"},
                                "/etc/crio/crio.conf.d",
                                "",
                                "crio.runtime.default_runtime",
                                {}})
    {
    }

    [[nodiscard]] std::string pod_key() const override { return "io.kubernetes.pod.namespace"; }
};

} // namespace

const EngineKind &crio_kind()
{
    static const Crio kind;
    return kind;
}

} // namespace ogh::admin
