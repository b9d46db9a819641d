// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "engines/document.h"
#include "engines/engine.h"

namespace ogh::admin {

namespace {

using nlohmann::json;

/** containerd 1.7 (version 2 of its configuration) and 2 (version 3) name their plugins otherwise. */
constexpr std::array cri_plugins{"io.containerd.grpc.v1.cri", "io.containerd.cri.v1.runtime"};

class Containerd final : public EngineKind {
public:
    Containerd() : EngineKind("containerd", "containerd", Way::Cdi) {}

    [[nodiscard]] std::optional<CdiUse> cdi(const Sysroot &sysroot) const override
    {
        const json document = read_document(sysroot, file).value_or(json::object());
        const json *const version = find_value(document, {"version"});
        CdiUse found{file,
                     {},
                     true,
                     {},
                     "have enable_cdi = true in /etc/containerd/config.toml, below the CRI plugin"};
        found.is_on_by_default =
            version == nullptr || (version->is_number_integer() && version->get<int>() >= 3);
        for (const char *const plugin : cri_plugins) {
            if (const auto enabled = flag_at(document, {"plugins", plugin, "enable_cdi"}))
                found.enabled = enabled;
            if (const auto folders = texts_at(document, {"plugins", plugin, "cdi_spec_dirs"}))
                found.folders = folders;
        }
        return found;
    }

    [[nodiscard]] std::vector<Runtimes> runtimes(const Sysroot &sysroot) const override
    {
        const json document = read_document(sysroot, file).value_or(json::object());
        Runtimes found{file, {}, ""};
        for (const char *const plugin : cri_plugins) {
            if (const std::string name =
                    text_at(document, {"plugins", plugin, "containerd", "default_runtime_name"});
                !name.empty())
                found.by_default = name;
            for (const auto &[name, value] :
                 members_at(document, {"plugins", plugin, "containerd", "runtimes"}))
                found.named.push_back({name, text_at(value, {"options", "BinaryName"})});
        }
        return {found};
    }

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

private:
    static constexpr const char *file = "/etc/containerd/config.toml";
};

} // namespace

const EngineKind &containerd_kind()
{
    static const Containerd kind;
    return kind;
}

} // namespace ogh::admin
