// SPDX-License-Identifier: Apache-2.0
#include "engines/document.h"
#include "engines/engine.h"

namespace ogh::admin {

namespace {

using nlohmann::json;

/** dockerd(8): "features", "cdi-spec-dirs" and "runtimes" of daemon.json. */
class Docker final : public EngineKind {
public:
    Docker() : EngineKind("docker", "dockerd", Way::Cdi) {}

    [[nodiscard]] std::optional<CdiUse> cdi(const Sysroot &sysroot) const override
    {
        const json document = read_document(sysroot, file).value_or(json::object());
        return CdiUse{file, flag_at(document, {"features", "cdi"}), false,
                      texts_at(document, {"cdi-spec-dirs"}),
                      R"(have {"features": {"cdi": true}} in /etc/docker/daemon.json, and restart docker)"};
    }

    [[nodiscard]] std::vector<Runtimes> runtimes(const Sysroot &sysroot) const override
    {
        const json document = read_document(sysroot, file).value_or(json::object());
        Runtimes found{file, {}, text_at(document, {"default-runtime"})};
        for (const auto &[name, value] : members_at(document, {"runtimes"}))
            found.named.push_back({name, text_at(value, {"path"})});
        return {found};
    }

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

private:
    static constexpr const char *file = "/etc/docker/daemon.json";
};

} // namespace

const EngineKind &docker_kind()
{
    static const Docker kind;
    return kind;
}

} // namespace ogh::admin
