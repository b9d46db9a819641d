// SPDX-License-Identifier: Apache-2.0
#include "engines/engine.h"

namespace ogh::admin {

namespace {

/** Of the plugin for CRI, whose name is another one since 2.0. */
constexpr CdiSwitch containerd_cdi{
    "enable_cdi=true", "enable_cdi=false",
    "have enable_cdi = true in /etc/containerd/config.toml, below the CRI plugin"};

class Containerd final : public EngineKind {
public:
    Containerd() : EngineKind("containerd", "containerd", Way::Cdi) {}

    [[nodiscard]] std::vector<std::string> configuration(const Sysroot & /*sysroot*/) const override
    {
        return {"/etc/containerd/config.toml"};
    }

    [[nodiscard]] const CdiSwitch *cdi() const override { return &containerd_cdi; }

    [[nodiscard]] std::string how_to_ask(const std::string &device) const override
    {
        return "whoever may name a device asks by " + device +
               ", with CRI as the value of an annotation cdi.k8s.io/NAME";
    }

    [[nodiscard]] std::vector<std::string> left_to_do(const std::string & /*folder*/) const override
    {
        return {
            "containerd reads /etc/cdi for containers of CRI; before 2.0 only with enable_cdi = true below "
            "[plugins.\"io.containerd.grpc.v1.cri\"] of its config.toml"};
    }
};

} // namespace

const EngineKind &containerd_kind()
{
    static const Containerd kind;
    return kind;
}

} // namespace ogh::admin
