// SPDX-License-Identifier: Apache-2.0
#include "nvidia/gpu_information.h"

#include "base/number.h"
#include "base/text.h"

namespace ogh {

namespace {

constexpr std::string_view uuid_prefix = "GPU-";
constexpr size_t max_uuid_size = 64;

/** Older drivers print question marks until the GPU has been opened once. */
bool is_uuid(std::string_view text)
{
    return text.starts_with(uuid_prefix) && text.size() > uuid_prefix.size() &&
           text.size() <= max_uuid_size &&
           text.substr(uuid_prefix.size()).find_first_not_of("0123456789abcdefABCDEF-") ==
               std::string_view::npos;
}

void set(GpuInformation &information, std::string_view key, std::string_view value)
{
    if (key == "Model")
        information.model = value;
    else if (key == "GPU UUID")
        information.uuid = is_uuid(value) ? value : "";
    else if (key == "Device Minor")
        information.minor = parse_small_number(value, max_gpu_minor);
    else if (key == "GPU Excluded" || key == "Blacklisted") // older drivers
        information.is_excluded = value == "Yes";
}

} // namespace

GpuInformation parse_gpu_information(std::string_view text)
{
    GpuInformation information;
    for (const std::string &line : split_list(text, '\n')) {
        const size_t colon = line.find(':');
        if (colon != std::string::npos)
            set(information, trimmed(std::string_view(line).substr(0, colon)),
                trimmed(std::string_view(line).substr(colon + 1)));
    }
    return information;
}

} // namespace ogh
