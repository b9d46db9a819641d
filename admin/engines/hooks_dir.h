// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "engines/engine.h"

namespace ogh::admin {

/** An engine that reads files of hooks by the rules of containers/common, and is told of their directories by hooks_dir. */
class HooksDirKind : public EngineKind {
public:
    /** @param name of its program, too */
    HooksDirKind(const std::string &name, HooksDirOption option)
        : EngineKind(name, name, Way::HooksD), option_(std::move(option))
    {
    }

    [[nodiscard]] std::vector<Engine> find(const std::shared_ptr<const Sysroot> &sysroot) const override;
    [[nodiscard]] const HooksDirOption *hooks_dir() const final { return &option_; }

    /** @throws Error (BrokenHost) if the directory of drop-ins cannot be read, or has too many */
    [[nodiscard]] std::vector<std::string> configuration(const Sysroot &sysroot) const final;

    [[nodiscard]] std::string runtime(const Sysroot &sysroot) const final;

private:
    HooksDirOption option_;
};

} // namespace ogh::admin
