// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace ogh::admin {

/** How bad it is, the worst last. */
enum class Severity {
    Ok,      ///< as it should be
    Note,    ///< worth knowing
    Warning, ///< works today, or not as somebody may think
    Error,   ///< containers do not get what they ask for, or more than they should, or do not start
};

/** One thing that the doctor has found. */
struct Finding {
    Severity severity;
    std::string text;   ///< one sentence, without a full stop
    std::string remedy; ///< what to do, the same; empty where nothing is to be done
};

using Findings = std::vector<Finding>;

/** What was found about one engine, or about the host. */
struct Section {
    std::string title; ///< "podman 4.3.1"
    Findings findings;
};

inline void add(Findings &findings, const Findings &more)
{
    findings.insert(findings.end(), more.begin(), more.end());
}

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
