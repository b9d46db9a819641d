// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "engines/engine.h"
#include "host/sysroot.h"
#include "report/report.h"

namespace ogh::admin {

/**
 * What `install` has written on this host and what is not in effect: a file that is gone has taken its policy along, and
 * an engine calls the hook with another one, or not at all. Nothing if all of it is there.
 * @param engines of this host
 */
std::optional<Section> check_written(const Sysroot &sysroot, const std::vector<Engine> &engines);

/** What every engine needs of the host: the kernel. */
Section check_host(const Sysroot &sysroot);

} // namespace ogh::admin
