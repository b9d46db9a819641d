// SPDX-License-Identifier: Apache-2.0
#include "report/report.h"

#include <algorithm>
#include <array>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/exit_status.h"
#include "base/text.h"

namespace ogh::admin {

namespace {

constexpr int warnings_only = 7; // none of the hooks' own, see ErrorKind

struct Look {
    const char *word; ///< all of one width
    const char *name; ///< in JSON
    const char *colour;
};

// Colours of ECMA-48, SGR: green, none, yellow, red.
const Look &look_of(Severity severity)
{
    static constexpr std::array<Look, 4> looks{{{"ok     ", "ok", "\033[32m"},
                                                {"note   ", "note", ""},
                                                {"warning", "warning", "\033[33m"},
                                                {"ERROR  ", "error", "\033[1;31m"}}};
    return looks.at(static_cast<size_t>(severity));
}

Severity worst(const std::vector<Section> &sections)
{
    Severity found = Severity::Ok;
    for (const Section &section : sections)
        for (const Finding &finding : section.findings)
            found = std::max(found, finding.severity);
    return found;
}

std::string line_of(const Finding &finding, bool colour)
{
    const Look &look = look_of(finding.severity);
    const bool paint = colour && *look.colour != '\0';
    std::string text = "  " + (paint ? look.colour + std::string(look.word) + "\033[0m" : look.word) + "  " +
                       printable(finding.text) + "\n";
    if (!finding.remedy.empty())
        text += "             -> " + printable(finding.remedy) + "\n";
    return text;
}

} // namespace

std::string to_text(const std::vector<Section> &sections, bool colour)
{
    std::string text;
    for (const Section &section : sections) {
        const std::string title = printable(section.title);
        text += (text.empty() ? "" : "\n") + (colour ? "\033[1m" + title + "\033[0m" : title) + "\n";
        for (const Finding &finding : section.findings)
            text += line_of(finding, colour);
    }
    return text;
}

std::string to_json(const std::vector<Section> &sections)
{
    nlohmann::ordered_json all = {{"severity", look_of(worst(sections)).name},
                                  {"sections", nlohmann::ordered_json::array()}};
    for (const Section &section : sections) {
        nlohmann::ordered_json findings = nlohmann::ordered_json::array();
        for (const Finding &finding : section.findings)
            findings.push_back({{"severity", look_of(finding.severity).name},
                                {"text", as_utf8(finding.text)},
                                {"remedy", as_utf8(finding.remedy)}});
        all["sections"].push_back({{"title", as_utf8(section.title)}, {"findings", std::move(findings)}});
    }
    return all.dump(2) + "\n";
}

int exit_status(const std::vector<Section> &sections)
{
    const Severity found = worst(sections);
    if (found == Severity::Error)
        return static_cast<int>(ExitStatus::BrokenHost);
    return found == Severity::Warning ? warnings_only : static_cast<int>(ExitStatus::Success);
}

} // namespace ogh::admin
