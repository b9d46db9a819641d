// SPDX-License-Identifier: Apache-2.0
#include "base/undo_log.h"

#include <iterator>
#include <utility>

namespace ogh {

void UndoLog::append(UndoLog &&part)
{
    steps_.insert(steps_.end(), std::make_move_iterator(part.steps_.begin()),
                  std::make_move_iterator(part.steps_.end()));
    part.steps_.clear();
}

void UndoLog::run() noexcept
{
    while (!steps_.empty()) {
        const Step step = std::move(steps_.back());
        steps_.pop_back();
        step();
    }
}

} // namespace ogh
