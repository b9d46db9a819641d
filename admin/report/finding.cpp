// SPDX-License-Identifier: Apache-2.0
#include "report/finding.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace ogh::admin {

void add(Findings &findings, Findings more)
{
    std::move(more.begin(), more.end(), std::back_inserter(findings));
}

Severity worst(const std::vector<Section> &sections)
{
    Severity found = Severity::Ok;
    for (const Section &section : sections)
        for (const Finding &finding : section.findings)
            found = std::max(found, finding.severity);
    return found;
}

} // namespace ogh::admin
