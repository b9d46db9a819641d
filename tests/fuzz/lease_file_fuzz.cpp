// SPDX-License-Identifier: Apache-2.0
#include <string>

#include "lease/state/lease_file.h"
#include "promise.h"
#include "target.h"

namespace ogh::fuzz::lease_file {

void check(std::string_view input)
{
    const auto people = attempt([&] { return parse_people(input); });
    require(people.value || people.kind == ErrorKind::BrokenHost,
            "names that cannot be used are the host's fault");
    if (people.value)
        require(parse_people(to_text(*people.value)) == *people.value,
                "what is written next is read as the same");
    const auto file = attempt([&] { return parse_lease_file(input); });
    if (!file.value) {
        require(file.kind == ErrorKind::BrokenHost, "a lease file that cannot be used is the host's fault");
        return;
    }
    require(contradiction(file.value->state).empty(), "nobody is kept out and has it");
    require(to_text(*file.value) == input, "a state has one text only, and nothing of it is lost");
    require(parse_lease_file(to_text(*file.value)) == *file.value,
            "what is written next is read as the same");
}

} // namespace ogh::fuzz::lease_file
