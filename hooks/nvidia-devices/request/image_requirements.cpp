// SPDX-License-Identifier: Apache-2.0
#include "nvidia-devices/request/image_requirements.h"

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/text.h"
#include "request/visible_devices.h"

namespace ogh::nvidia_devices {

namespace {

constexpr std::string_view requirement_prefix = "NVIDIA_REQUIRE_";
constexpr std::string_view jetpack_prefix = "NVIDIA_REQUIRE_JETPACK";
constexpr const char *version_variable = "CUDA_VERSION";

/** As Go's strconv.ParseBool has it; anything else is false. */
bool is_true(std::string_view value)
{
    constexpr std::array<std::string_view, 6> words{"1", "t", "T", "true", "TRUE", "True"};
    return std::find(words.begin(), words.end(), value) != words.end();
}

std::string origin_of(std::string_view name)
{
    return "environment variable " + quote(name);
}

/** By name; of equal names the last. One pass: an image may have as many variables as fit into config.json. */
std::map<std::string, std::string> required_values(const Config &config)
{
    std::map<std::string, std::string> values;
    for (const std::string &entry : config.environment) {
        const size_t equals = entry.find('=');
        if (equals != std::string::npos && entry.starts_with(requirement_prefix) &&
            !entry.starts_with(jetpack_prefix))
            values[entry.substr(0, equals)] = entry.substr(equals + 1);
    }
    return values;
}

/** Of "12.4.1" or "v12.4.1" what the CUDA of a driver is compared with. */
Requirement required_by_version(const std::string &text)
{
    const std::string whole = text.substr(text.starts_with('v') ? 1 : 0);
    const size_t dot = whole.find('.');
    const std::string version = whole.substr(0, dot == std::string::npos ? dot : whole.find('.', dot + 1));
    if (!DottedVersion::parse(version))
        throw Error(ErrorKind::Usage,
                    "the " + origin_of(version_variable) + " is " + quote(text) +
                        ", which is no version, and the image has no 'NVIDIA_REQUIRE_CUDA' that says what "
                        "it needs; NVIDIA_DISABLE_REQUIRE=true in its environment has it start");
    return parse_requirement({"cuda>=" + version, origin_of(version_variable)});
}

} // namespace

std::vector<Requirement> requirements_of(const Config &config)
{
    if (is_true(environment_value(config, "NVIDIA_DISABLE_REQUIRE").value_or("")))
        return {};
    std::vector<Requirement> requirements;
    for (const auto &[name, value] : required_values(config)) {
        const RequestValue asked{value, origin_of(name)};
        if (value.size() > max_request_size)
            throw Error(ErrorKind::Usage, "the " + asked.origin + " is longer than " +
                                              std::to_string(max_request_size) + " bytes");
        if (Requirement requirement = parse_requirement(asked); !requirement.alternatives.empty())
            requirements.push_back(std::move(requirement));
    }
    if (is_legacy_cuda_image(config))
        requirements.push_back(required_by_version(environment_value(config, version_variable).value_or("")));
    return requirements;
}

} // namespace ogh::nvidia_devices
