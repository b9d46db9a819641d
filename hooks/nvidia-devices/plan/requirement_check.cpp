// SPDX-License-Identifier: Apache-2.0
#include "nvidia-devices/plan/requirement_check.h"

#include <algorithm>

#include "base/error.h"
#include "base/text.h"
#include "nvidia-devices/host/candidates.h"
#include "request/availability.h"

namespace ogh::nvidia_devices {

namespace {

/** Images name dozens of alternatives, one for each brand and driver. */
constexpr size_t max_shown = 160;

std::string to_text(const std::optional<KnownVersion> &known)
{
    return known ? known->version.text() + (known->or_newer ? " or newer" : "") : "not known";
}

std::string to_text(const std::vector<std::string_view> &brands)
{
    std::string text;
    for (const std::string_view brand : brands)
        (text += text.empty() ? "" : " or ") += brand;
    return text.empty() ? "not known" : text;
}

/** Of what the requirement is about. */
std::string facts_for(const Requirement &requirement, const GpuFacts &facts)
{
    const auto is_about = [&](Property property) {
        const auto names = [&](const Term &term) { return term.property == property; };
        return std::any_of(
            requirement.alternatives.begin(), requirement.alternatives.end(),
            [&](const std::vector<Term> &terms) { return std::any_of(terms.begin(), terms.end(), names); });
    };
    std::string text;
    const auto add = [&](Property property, const char *name, const std::string &value) {
        if (is_about(property))
            ((text += text.empty() ? "" : ", ") += name) += value;
    };
    add(Property::Cuda, "cuda ", to_text(facts.cuda));
    add(Property::Driver, "driver ", facts.driver.empty() ? "not known" : facts.driver);
    add(Property::Arch, "arch ", to_text(facts.arch));
    add(Property::Brand, "brand ", to_text(facts.brands));
    return text;
}

} // namespace

void check_gpu(const std::vector<Requirement> &requirements, const GpuFacts &facts, const std::string &gpu,
               Notes &notes)
{
    for (const Requirement &requirement : requirements) {
        const Answer answer = is_met(requirement, facts);
        if (answer == Answer::Yes)
            continue;
        const std::string needs = quote(requirement.text, max_shown) + " (" + requirement.origin +
                                  "), and GPU " + gpu + " has " + facts_for(requirement, facts);
        if (answer == Answer::No)
            throw Error(
                ErrorKind::NotAvailable,
                "the image needs " + needs +
                    "; take an image for this driver and GPU, or a host with others; "
                    "NVIDIA_DISABLE_REQUIRE=true in the container's environment has it start nevertheless");
        notes.push_back({LogLevel::Warning, "the image needs " + needs +
                                                ": whether that is enough cannot be told; if it is not, its "
                                                "programs fail"});
    }
}

void check_requirements(const std::vector<Requirement> &requirements, const std::vector<GpuFacts> &facts,
                        const std::vector<size_t> &gpus, const Inventory &inventory, Notes &notes)
{
    if (requirements.empty())
        return;
    const auto names = candidates(inventory);
    Notes found;
    for (size_t i = 0; i < gpus.size(); ++i) {
        Notes of_this;
        check_gpu(requirements, facts.at(i), label(names[gpus[i]]), of_this);
        if (found.empty())
            found = std::move(of_this);
    }
    notes.insert(notes.end(), found.begin(), found.end());
}

} // namespace ogh::nvidia_devices
