// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <charconv>
#include <set>
#include <vector>

#include "host/proc_devices.h"
#include "nvidia-devices/host/driver_version.h"
#include "nvidia/gpu_information.h"
#include "nvidia/mig.h"
#include "nvidia/driver_params.h"
#include "promise.h"
#include "target.h"

namespace ogh::fuzz {

using namespace nvidia_devices;

namespace {

std::vector<std::string_view> lines_of(std::string_view text)
{
    std::vector<std::string_view> lines;
    for (size_t end = text.find('\n'); end != std::string_view::npos; end = text.find('\n')) {
        lines.push_back(text.substr(0, end));
        text.remove_prefix(end + 1);
    }
    lines.push_back(text);
    return lines;
}

std::string_view without_blanks(std::string_view text)
{
    while (!text.empty() && (text.front() == ' ' || text.front() == '\t'))
        text.remove_prefix(1);
    while (!text.empty() && (text.back() == ' ' || text.back() == '\t'))
        text.remove_suffix(1);
    return text;
}

/** The last value of a key; nothing if no line has it. */
std::optional<std::string_view> value_of(std::string_view text, std::string_view key)
{
    std::optional<std::string_view> value;
    for (const std::string_view line : lines_of(text)) {
        const size_t colon = line.find(':');
        if (colon != std::string_view::npos && without_blanks(line.substr(0, colon)) == key)
            value = without_blanks(line.substr(colon + 1));
    }
    return value;
}

std::optional<unsigned> number_of(std::string_view text, unsigned limit)
{
    unsigned number = 0;
    const auto result = std::from_chars(text.data(), text.data() + text.size(), number);
    const bool is_number =
        result.ec == std::errc() && result.ptr == text.data() + text.size() && number <= limit;
    return is_number ? std::optional(number) : std::nullopt;
}

void check_information(std::string_view input)
{
    const GpuInformation information = parse_gpu_information(input);
    require(information.model == value_of(input, "Model").value_or(""), "the model is what the driver says");
    const auto number = value_of(input, "Device Minor");
    require(information.minor == (number ? number_of(*number, 247) : std::nullopt),
            "the minor is one of a GPU's that the driver says");
    require(information.uuid.empty() || information.uuid == value_of(input, "GPU UUID"),
            "the UUID is what the driver says");
    require(information.uuid.empty() || information.uuid.starts_with("GPU-"), "a UUID looks like one");
    require(information.uuid.size() <= 64 && is_one_clean_line(information.uuid),
            "a UUID is short and plain");
    const bool excluded = value_of(input, "GPU Excluded") == "Yes" || value_of(input, "Blacklisted") == "Yes";
    require(!information.is_excluded || excluded, "only what the driver excludes is excluded");
}

void check_version(std::string_view input)
{
    const auto version = parse_driver_version(input);
    if (!version)
        return;
    const std::string &text = version->version;
    const auto dots = std::count(text.begin(), text.end(), '.');
    require(dots >= 1 && dots <= 2, "a version has two or three parts");
    require(text.find_first_not_of("0123456789.") == std::string::npos && text.front() != '.' &&
                text.back() != '.' && text.find("..") == std::string::npos,
            "each part of a version is a number");
    const std::string_view line = lines_of(input).front();
    const size_t module = line.find("Kernel Module");
    require(module != std::string_view::npos && line.find(text, module) != std::string_view::npos,
            "the version is in the first line");
}

bool has_masked_key(std::string_view line)
{
    return without_blanks(line.substr(0, line.find(':'))) == "ModifyDeviceFiles";
}

void check_params(std::string_view input)
{
    const std::string masked = params_for_container(input);
    auto before = lines_of(input);
    const auto after = lines_of(masked);
    if (std::none_of(before.begin(), before.end(), has_masked_key))
        before.insert(before.begin(), "ModifyDeviceFiles: 1");
    require(before.size() == after.size(), "every line stays");
    for (size_t i = 0; i < after.size(); ++i)
        require(after[i] == (has_masked_key(before[i]) ? "ModifyDeviceFiles: 0" : before[i]),
                "no line lets nodes be made, and the others are as they were");
    require(params_for_container(masked) == masked, "what is masked stays as it is");
}

/** Lines of the first section as proc_devices(5) has them; of equal names the first. */
void check_devices(std::string_view input)
{
    const ProcDevices devices(input);
    std::set<std::string_view> seen;
    bool is_inside = false;
    for (const std::string_view line : lines_of(input)) {
        const std::string_view entry = without_blanks(line);
        if (is_inside && entry.empty())
            break;
        const size_t blank = entry.find(' ');
        if (is_inside && blank != std::string_view::npos) {
            const auto number = number_of(entry.substr(0, blank), 4095);
            const std::string_view name = without_blanks(entry.substr(blank));
            if (number && seen.insert(name).second)
                require(devices.major_of(name) == number, "a driver has the number that stands beside it");
        }
        is_inside = is_inside || entry == "Character devices:";
    }
    for (const char *name : {"nvidia", "nvidia-uvm", "nvidia-fs", "gdrdrv", "Character devices:", ""})
        require(seen.contains(name) == devices.major_of(name).has_value(), "no other driver is there");
}

void check_cap_access(std::string_view input)
{
    const auto node = parse_cap_access(input);
    const auto minor = value_of(input, "DeviceFileMinor");
    const auto mode = value_of(input, "DeviceFileMode");
    const auto minor_number = minor ? number_of(*minor, 8191) : std::nullopt;
    const auto mode_number = mode ? number_of(*mode, 0777) : std::nullopt;
    require(node.has_value() == (minor_number && mode_number), "a node has a minor and a mode");
    if (node)
        require(node->minor == minor_number && node->mode == mode_number, "they are what the driver says");
}

/** In the order of the lines the first of each name counts, and each name is one of the text's. */
void check_mig_minors(std::string_view input)
{
    MigMinors minors{std::string(input)};
    std::set<std::string_view> seen;
    for (const std::string_view line : lines_of(input)) {
        const size_t blank = line.find(' ');
        if (blank == std::string_view::npos || !seen.insert(line.substr(0, blank)).second)
            continue;
        require(minors.find(line.substr(0, blank)) == number_of(line.substr(blank + 1), 8191),
                "a right has the number that stands beside it");
    }
    for (const char *name : {"config", "gpu0/gi1/access", "gpu0/gi1/ci0/access"})
        require(seen.contains(name) || !minors.find(name), "no other right is there");
}

} // namespace

void check(std::string_view input)
{
    check_information(input);
    check_version(input);
    check_params(input);
    check_devices(input);
    check_cap_access(input);
    check_mig_minors(input);
}

} // namespace ogh::fuzz
