// SPDX-License-Identifier: Apache-2.0
#include "doctor/check_annotations.h"

#include <algorithm>

#include "base/text.h"
#include "registration/hooks.h"

namespace ogh::admin {

namespace {

/** Of somebody's list, which ours takes the place of: changed since. */
Findings check_lists_before(const std::vector<DefaultAnnotations> &lists, const std::string &remedy)
{
    Findings findings;
    if (lists.size() < 2 || lists.back().file != default_annotations_file)
        return findings;
    const DefaultAnnotations &before = *(lists.end() - 2);
    const std::vector<std::string> &ours = lists.back().entries;
    for (const std::string &entry : before.entries)
        if (std::find(ours.begin(), ours.end(), entry) == ours.end())
            findings.push_back({Severity::Warning,
                                quote(entry) + " of 'annotations' in " + quote(before.file) +
                                    " is not in effect: the list in " + quote(lists.back().file) +
                                    " takes its place",
                                remedy});
    return findings;
}

} // namespace

Findings check_annotations(const Engine &engine)
{
    const auto annotations = engine.kind->image_annotations(*engine.sysroot);
    if (!annotations)
        return {};
    const std::string remedy = "oci-gpu-hooks install --engine " + engine.name + " --defaults";
    const std::vector<DefaultAnnotations> &lists = annotations->lists;
    Findings findings = check_lists_before(lists, remedy);
    const auto keys = keys_without_default(lists.empty() ? std::vector<std::string>() : lists.back().entries);
    const auto takes = annotations->are_taken;
    if (!takes.value_or(true))
        return findings;
    const std::string why = "before 4.6 " + engine.name + " makes an image's annotations the container's";
    if (keys.empty())
        findings.push_back(
            {Severity::Ok,
             why + ", and the defaults in " + quote(lists.back().file) + " keep images from asking", ""});
    else if (takes)
        findings.push_back(
            {Severity::Error,
             why + ", and this is such a version: the author of an image may ask, by " + quote_list(keys),
             remedy});
    else
        findings.push_back({Severity::Note,
                            why + ": with such a version, the author of an image may ask; which one "
                                  "this is is not known",
                            remedy});
    return findings;
}

} // namespace ogh::admin
