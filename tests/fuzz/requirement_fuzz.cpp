// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <string>

#include "nvidia-devices/plan/requirement_check.h"
#include "nvidia-devices/request/image_requirements.h"
#include "promise.h"
#include "target.h"

namespace ogh::fuzz {

using namespace nvidia_devices;

namespace {

/** All of it is known. */
GpuFacts exact(const DottedVersion &cuda, std::string_view brand)
{
    return {KnownVersion{cuda}, KnownVersion{{8, 6}}, "555.42.07", {brand}};
}

bool allows(Answer answer, Answer certain)
{
    return answer == Answer::NotKnown || answer == certain;
}

/** What is said while less is known stays true when more is. */
void check_knowledge(const Requirement &requirement)
{
    GpuFacts least;
    least.cuda = KnownVersion{{12, 5}, true};
    const GpuFacts either{
        KnownVersion{{12, 5}}, KnownVersion{{8, 6}}, "555.42.07", {"geforce", "geforcertx"}};
    for (const DottedVersion &cuda :
         {DottedVersion{12, 5}, DottedVersion{12, 5, 1}, DottedVersion{13}, DottedVersion{99}}) {
        for (const std::string_view brand : {"geforce", "geforcertx"}) {
            const Answer certain = is_met(requirement, exact(cuda, brand));
            require(certain != Answer::NotKnown, "who knows all can answer");
            require(allows(is_met(requirement, {}), certain), "an answer without facts is right");
            require(allows(is_met(requirement, least), certain), "an answer for the least version is right");
            if (cuda == DottedVersion{12, 5})
                require(allows(is_met(requirement, either), certain), "an answer for both brands is right");
        }
    }
}

void check_message(const Requirement &requirement)
{
    const GpuFacts facts = exact({12, 5}, "geforce");
    Notes notes;
    const auto outcome = attempt([&] {
        check_gpu({requirement}, facts, "0", notes);
        return true;
    });
    require(notes.empty(), "who knows all warns of nothing");
    require(outcome.value.has_value() == (is_met(requirement, facts) == Answer::Yes),
            "what is not met is an error");
    require(outcome.value || outcome.kind == ErrorKind::NotAvailable, "the host lacks it");
    check_gpu({requirement}, {}, "0", notes);
    for (const Note &note : notes)
        require(is_one_clean_line(note.text), "a note is one clean line");
}

/** Commas, blanks and blanks of other kinds apart, each character is one of a term's. */
void check_terms(const Requirement &requirement, std::string_view input)
{
    require(std::none_of(requirement.alternatives.begin(), requirement.alternatives.end(),
                         [](const auto &terms) { return terms.empty(); }),
            "an alternative requires something");
    size_t operators = 0;
    for (const auto &terms : requirement.alternatives)
        operators += terms.size();
    const auto written =
        std::count_if(input.begin(), input.end(), [](char c) { return c == '=' || c == '<' || c == '>'; });
    require(operators <= static_cast<size_t>(written), "a term has an operator");
}

} // namespace

void check(std::string_view input)
{
    const std::string text(input);
    const auto requirement = attempt([&] { return parse_requirement({text, "environment variable 'V'"}); });
    require(requirement.value || requirement.kind == ErrorKind::Usage,
            "a requirement is refused as a wrong use");
    Config config;
    config.environment = {"NVIDIA_REQUIRE_CUDA=" + text};
    const auto all = attempt([&] { return requirements_of(config); });
    if (requirement.value) {
        check_terms(*requirement.value, input);
        check_knowledge(*requirement.value);
        check_message(*requirement.value);
        require(text.size() > max_request_size || (all.value && all.value->size() <= 1),
                "one variable, one requirement");
    } else {
        require(!all.value, "what is no requirement is none in a variable");
    }
    config.environment = {"CUDA_VERSION=" + text};
    const auto old = attempt([&] { return requirements_of(config); });
    require(old.value || old.kind == ErrorKind::Usage, "a version is refused as a wrong use");
    config.environment.emplace_back("NVIDIA_DISABLE_REQUIRE=1");
    require(requirements_of(config).empty(), "what is switched off requires nothing");
}

} // namespace ogh::fuzz
