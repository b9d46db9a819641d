// SPDX-License-Identifier: Apache-2.0
#include "engines/engine.h"

namespace ogh::admin {

namespace {

/** dockerd(8): "features" of daemon.json. */
constexpr CdiSwitch docker_cdi{
    R"("cdi":true)", R"("cdi":false)",
    R"(have {"features": {"cdi": true}} in /etc/docker/daemon.json, and restart docker)"};

class Docker final : public EngineKind {
public:
    Docker() : EngineKind("docker", "dockerd", Way::Cdi) {}

    [[nodiscard]] std::vector<std::string> configuration(const Sysroot & /*sysroot*/) const override
    {
        return {"/etc/docker/daemon.json"};
    }

    [[nodiscard]] const CdiSwitch *cdi() const override { return &docker_cdi; }

    [[nodiscard]] std::string how_to_ask(const std::string &device) const override
    {
        return "whoever may use Docker asks by: docker run --device " + device + " IMAGE";
    }

    [[nodiscard]] std::vector<std::string> left_to_do(const std::string & /*folder*/) const override
    {
        return {"dockerd reads /etc/cdi where its daemon.json has \"features\": {\"cdi\": true}, or by "
                "default if "
                "it is new enough; 'docker info' lists its CDI folders"};
    }
};

} // namespace

const EngineKind &docker_kind()
{
    static const Docker kind;
    return kind;
}

} // namespace ogh::admin
