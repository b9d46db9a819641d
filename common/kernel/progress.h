// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/log.h"
#include "base/undo_log.h"
#include "kernel/time_limit.h"

namespace ogh {

/** How far a run has come. Whatever ends it: what it has said is written, and what it has done is taken back. */
struct Progress {
    Cancellation cancellation;
    Notes notes = {}; ///< not written yet
    UndoLog undo = {};
};

} // namespace ogh
