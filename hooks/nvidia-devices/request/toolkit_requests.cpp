// SPDX-License-Identifier: Apache-2.0
#include "nvidia-devices/request/toolkit_requests.h"

#include <algorithm>
#include <array>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/text.h"

namespace ogh::nvidia_devices {

namespace {

/** Below which the toolkit takes each target of a mount for the name of a GPU, or of an IMEX channel. */
constexpr std::array<std::string_view, 2> device_folders{"/var/run/nvidia-container-devices/",
                                                         "/run/nvidia-container-devices/"};

constexpr const char *imex_variable = "NVIDIA_IMEX_CHANNELS";

/** As Go's strconv.ParseBool has it; anything else is false. */
bool is_true(std::string_view value)
{
    constexpr std::array<std::string_view, 6> words{"1", "t", "T", "true", "TRUE", "True"};
    return std::find(words.begin(), words.end(), value) != words.end();
}

/** The names of the variables that say what the image needs of a driver. */
std::vector<std::string> requirements(const Config &config)
{
    std::set<std::string> names;
    if (is_true(environment_value(config, "NVIDIA_DISABLE_REQUIRE").value_or("")))
        return {};
    for (const std::string &entry : config.environment) {
        const std::string name = entry.substr(0, entry.find('='));
        if (name.starts_with("NVIDIA_REQUIRE_") && !name.starts_with("NVIDIA_REQUIRE_JETPACK") &&
            !environment_value(config, name).value_or("").empty())
            names.insert(name);
    }
    return {names.begin(), names.end()};
}

} // namespace

void refuse_device_mounts(const Config &config)
{
    for (const std::string &target : config.bind_targets) {
        const auto is_above = [&](std::string_view folder) { return target.starts_with(folder); };
        if (std::any_of(device_folders.begin(), device_folders.end(), is_above))
            throw Error(
                ExitCode::Usage,
                "the container asks for GPUs by the mount " + quote(target) +
                    ", which this hook does not understand; let it ask by its environment (Kubernetes' "
                    "device plugin: --device-list-strategy=envvar) or by annotation");
    }
}

void check_further_variables(const Config &config, Notes &notes)
{
    const std::string channels = environment_value(config, imex_variable).value_or("");
    if (!channels.empty() && channels != "all")
        throw Error(ExitCode::Usage, "the environment variable " + quote(imex_variable) +
                                         " asks for IMEX channels (" + quote(channels) +
                                         "), which this hook cannot give yet; leave it out");
    if (const auto names = requirements(config); !names.empty())
        notes.push_back({LogLevel::Warning, "what the image needs of the driver is not checked (" +
                                                quote_list(names) +
                                                "): with a driver that is too old its programs fail"});
}

} // namespace ogh::nvidia_devices
