// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "report/finding.h"

namespace ogh::admin {

/**
 * For people: a heading for each section, a line for each finding, and below it what to do.
 * @param colour with the escape sequences of a terminal
 */
std::string to_text(const std::vector<Section> &sections, bool colour);

/** For programs: {"severity": the worst, "sections": [{"title", "findings": [{"severity", "text", "remedy"}]}]}. */
std::string to_json(const std::vector<Section> &sections);

/**
 * The exit status that says how bad it is: 0 for notes and less, 7 for warnings, 6 (the host is not as it should be) for
 * errors.
 */
int exit_status(const std::vector<Section> &sections);

} // namespace ogh::admin
