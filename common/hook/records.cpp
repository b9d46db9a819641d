// SPDX-License-Identifier: Apache-2.0
#include "hook/records.h"

#include <cstdint>
#include <utility>

#include "base/error.h"
#include "base/exit_status.h"
#include "kernel/user_namespace.h"
#include "lease/waiting/refusals.h"

namespace ogh {

std::shared_ptr<History> Records::history()
{
    if (history_ || options_.only_looks)
        return history_;
    const std::string &path = options_.history;
    // Of the root of a user namespace nobody knows whose /var that is.
    if (path.empty() ? in_initial_user_namespace() : path != "none")
        history_ = std::make_shared<History>(sysroot_(), path.empty() ? default_history : path, hook_);
    return history_;
}

void Records::prepare()
{
    if (std::exchange(is_prepared_, true) || options_.only_looks)
        return;
    static_cast<void>(history());
    try {
        lease_place_ = LeaseDirectory::place(sysroot_());
    } catch (const Error &) { // NOLINT(bugprone-empty-catch): who needs it will say so
    }
}

/** No container waits for numbers, and no message is about them. */
void Records::count_refusal(int status) noexcept
try {
    if (!lease_place_)
        return;
    ogh::count_refusal(std::move(*lease_place_).make(), hook_, static_cast<size_t>(status));
} catch (const std::exception &) {
    return;
}

void Records::write_refusal(const std::string &container, const ContainerLabel &label,
                            const std::exception &error) noexcept
try {
    if (container.empty())
        return; // by hand
    prepare();
    const auto *const known = dynamic_cast<const Error *>(&error);
    const int status = static_cast<int>(exit_status(known == nullptr ? ErrorKind::Failure : known->kind()));
    if (history_) {
        HistoryLine line = history_->begin("refused");
        line.add("container", container);
        add_label(line, label);
        line.add_number("status", static_cast<std::uint64_t>(status));
        line.add("reason", error.what());
        history_->add(std::move(line));
        say_problem();
    }
    count_refusal(status);
} catch (const std::exception &problem) {
    log_.write(LogLevel::Warning, std::string(problem.what()) + ", ignoring");
}

void Records::say_problem() const
{
    if (history_ && !history_->problem().empty())
        log_.write(LogLevel::Warning, history_->problem() + ", ignoring");
}

} // namespace ogh
