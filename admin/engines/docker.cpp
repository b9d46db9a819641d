// SPDX-License-Identifier: Apache-2.0
#include "base/text.h"
#include "engines/engine.h"
#include "engines/gpu_flag.h"
#include "engines/programs.h"
#include "registration/gpu_flag_script.h"

namespace ogh::admin {

namespace {

/** dockerd(8): "features" of daemon.json. */
constexpr CdiSwitch docker_cdi{
    R"("cdi":true)", R"("cdi":false)",
    R"(have {"features": {"cdi": true}} in /etc/docker/daemon.json, and restart docker)"};

/** What the script calls, as if it were a directory of files of hooks. */
HookDirectory directory_of_calls(const std::vector<HookCall> &calls)
{
    HookDirectory directory{gpu_flag_path, true, {}, {}};
    for (const HookCall &call : calls)
        directory.files.push_back(hook_file_of(call));
    return directory;
}

/** Of what else stands where dockerd looks. */
Findings check_others(const Sysroot &sysroot, bool has_script)
{
    Findings findings;
    if (const auto vendors = find_vendors_gpu_flag(sysroot))
        findings.push_back({Severity::Warning,
                            quote(*vendors) +
                                " is NVIDIA's own hook: with 'docker run --gpus' a container gets GPUs past "
                                "the hooks and their policy",
                            "remove it, then: oci-gpu-hooks install --engine docker --gpus nvidia-devices"});
    if (const auto program = find_program(sysroot, "nvidia-cdi-hook"); program && has_script)
        findings.push_back({Severity::Note,
                            quote(*program) +
                                " is there: docker 29.2 and later take --gpus for devices of the CDI "
                                "specification of 'nvidia.com/gpu' first, if there is one",
                            "have none, or one of ours: see --kind in nvidia-devices(8)"});
    return findings;
}

class Docker final : public EngineKind {
public:
    Docker() : EngineKind("docker", "dockerd", Way::Cdi) {}

    [[nodiscard]] std::vector<std::string> configuration(const Sysroot & /*sysroot*/) const override
    {
        return {"/etc/docker/daemon.json"};
    }

    [[nodiscard]] const CdiSwitch *cdi() const override { return &docker_cdi; }

    [[nodiscard]] bool has_gpu_flag() const override { return true; }

    /** That which its flag --gpus calls, if it does. */
    [[nodiscard]] std::vector<Engine> find(const std::shared_ptr<const Sysroot> &sysroot) const override
    {
        const auto script = read_gpu_flag_script(*sysroot);
        if (!script)
            return {};
        Engine engine = new_engine(sysroot);
        engine.title = "docker --gpus";
        engine.directories_from = "with --gpus it calls " + quote(gpu_flag_path);
        if (const auto calls = parse_gpu_flag_script(*script))
            engine.directories.push_back(directory_of_calls(*calls));
        else
            engine.findings.push_back(
                {Severity::Error, quote(gpu_flag_path) + " was changed: what it calls is not known",
                 "remove it, then: oci-gpu-hooks install --engine docker --gpus nvidia-devices"});
        return {std::move(engine)};
    }

    [[nodiscard]] std::vector<Section> notes(const Sysroot &sysroot, bool is_found) const override
    {
        Findings findings = check_others(sysroot, is_found);
        if (findings.empty() || !is_installed(sysroot))
            return {};
        return {{"docker --gpus", std::move(findings)}};
    }

    [[nodiscard]] std::string how_to_ask(const std::string &device) const override
    {
        return "whoever may use Docker asks by: docker run --device " + device + " IMAGE";
    }

    [[nodiscard]] std::vector<std::string> left_to_do(const std::string & /*directory*/) const override
    {
        return {"dockerd reads /etc/cdi where its daemon.json has \"features\": {\"cdi\": true}, or by "
                "default if "
                "it is new enough; 'docker info' lists its CDI directories"};
    }
};

} // namespace

const EngineKind &docker_kind()
{
    static const Docker kind;
    return kind;
}

} // namespace ogh::admin
