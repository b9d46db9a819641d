// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/log.h"
#include "history/history.h"
#include "hook/options.h"
#include "host/sysroot.h"
#include "lease/waiting/lease_directory.h"
#include "oci/container_label.h"

namespace ogh {

/** What a run of a hook leaves for people: lines of the history, and the numbers of refusals. Nothing with --plan. */
class Records final {
public:
    /**
     * @param options are parsed later
     * @param sysroot gives the host's root
     */
    Records(const char *hook, const CommonOptions &options, Log &log,
            std::function<const Sysroot &()> sysroot)
        : hook_(hook), options_(options), log_(log), sysroot_(std::move(sysroot))
    {
    }

    /** Nothing where no history is written. First called on the host. @throws Error */
    [[nodiscard]] std::shared_ptr<History> history();

    /** Opens on the host what works in the container too. @throws Error */
    void prepare();

    /** Writes down that the container is refused, if there is one. What is wrong with the history goes to the log. */
    void write_refusal(const std::string &container, const ContainerLabel &label,
                       const std::exception &error) noexcept;

    /** Says what is wrong with the history, if something is. */
    void say_problem() const;

private:
    void count_refusal(int status) noexcept;

    const char *hook_;
    const CommonOptions &options_;
    Log &log_;
    std::function<const Sysroot &()> sysroot_;
    std::shared_ptr<History> history_;
    std::optional<LeaseDirectory> lease_place_;
    bool is_prepared_ = false;
};

} // namespace ogh
