// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>

#include "nvidia-devices/request/image_requirements.h"
#include "promise.h"
#include "target.h"

namespace ogh::fuzz::requirement {

using namespace nvidia_devices;

void check(std::string_view input)
{
    const size_t end = std::min(input.find('\n'), input.size());
    const std::string one(input.substr(0, end));
    const std::string other(input.substr(std::min(end + 1, input.size())));
    for (const char *driver : {"", "555.42.07", "700.1"}) {
        const Answer first = is_met(one, driver);
        if (one.find_first_not_of(", \t") != std::string::npos) {
            require(is_met("cuda<1 " + one, driver) >= first, "a further alternative refuses nothing");
            require(is_met(other + " " + one, driver) >= first, "nor does any other");
            if (one.find(' ') == std::string::npos)
                require(is_met(one + ",cuda<1", driver) <= first, "a further term allows nothing");
        }
        Notes notes;
        const auto outcome = attempt([&] {
            check_requirements({{one, "environment variable 'V'"}}, driver, notes);
            return true;
        });
        require(outcome.value.has_value() == (first != Answer::No), "what is surely not met is an error");
        require(outcome.value || outcome.kind == ErrorKind::NotAvailable, "the host lacks it");
        require(notes.size() == (first == Answer::NotKnown || first == Answer::IfBrand ? 1U : 0U),
                "what cannot be told is said");
        for (const Note &note : notes)
            require(is_one_clean_line(note.text), "a note is one clean line");
    }
    Config config;
    config.environment = {"CUDA_VERSION=" + one};
    require(requirements_of(config).size() == (one.empty() ? 0U : 1U), "a version is one requirement");
    config.environment.emplace_back("NVIDIA_DISABLE_REQUIRE=1");
    require(requirements_of(config).empty(), "what is switched off requires nothing");
}

} // namespace ogh::fuzz::requirement
