// SPDX-License-Identifier: Apache-2.0
#include <string>

#include "lease/lease_file.h"
#include "lease/lease_text.h"
#include "promise.h"
#include "target.h"

namespace ogh::fuzz::lease_file {

void check(std::string_view input)
{
    const auto file = attempt([&] { return parse_lease_file(input); });
    if (!file.value) {
        require(file.kind == ErrorKind::BrokenHost, "a lease file that cannot be used is the host's fault");
        return;
    }
    require(contradiction(file.value->state).empty(), "nobody is kept out and has it");
    const unsigned version = input.starts_with("oci-gpu-hooks leases 1\n") ? 1 : 2;
    require(to_text(*file.value, version) == input, "a state has one text only, and nothing of it is lost");
    require(version_for(file.value->state) >= version, "a file of version 2 has no ticket of version 1");
    if (!file.value->state.tickets.empty()) {
        LeaseFilePart part = parse_lease_file(input, file.value->state.tickets.front().number);
        const LeaseTextParts text = to_parts(part.file);
        require(version == 1 || text.before + std::string(part.later) + text.behind == input,
                "what is not read is kept");
        add_tickets(part.file.state, part.later);
        require(part.file == *file.value, "it can be read later");
    }
    const LeaseFile again = parse_lease_file(to_text(*file.value));
    require(again == *file.value, "what is written next is read as the same");
}

} // namespace ogh::fuzz::lease_file
