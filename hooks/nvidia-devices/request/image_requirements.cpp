// SPDX-License-Identifier: Apache-2.0
#include "nvidia-devices/request/image_requirements.h"

#include <algorithm>
#include <array>
#include <compare>
#include <map>
#include <optional>
#include <set>

#include "base/contains.h"
#include "base/dotted_version.h"
#include "base/error.h"
#include "base/letters.h"
#include "base/text.h"
#include "request/visible_devices.h"

namespace ogh::nvidia_devices {

namespace {

constexpr std::string_view requirement_prefix = "NVIDIA_REQUIRE_";
constexpr std::string_view jetpack_prefix = "NVIDIA_REQUIRE_JETPACK";
constexpr const char *version_variable = "CUDA_VERSION";

/** Images name dozens of alternatives, one for each brand and driver. */
constexpr size_t max_shown = 160;

/** A version that is known, or of which only the least is. */
struct KnownVersion {
    DottedVersion version;
    bool or_newer = false;
};

struct DriverRow {
    unsigned major;
    unsigned cuda; ///< 1000 times its major version, and 10 times its minor one, as CUDA itself counts
};

/** Which CUDA a driver brings, by its major version (NVIDIA's release notes of the CUDA toolkit). */
constexpr std::array<DriverRow, 31> drivers{
    {{367, 8000},  {375, 8000},  {384, 9000},  {387, 9010},  {390, 9010},  {396, 9020},  {410, 10000},
     {415, 10000}, {418, 10010}, {440, 10020}, {450, 11000}, {455, 11010}, {460, 11020}, {465, 11030},
     {470, 11040}, {495, 11050}, {510, 11060}, {515, 11070}, {520, 11080}, {525, 12000}, {530, 12010},
     {535, 12020}, {545, 12030}, {550, 12040}, {555, 12050}, {560, 12060}, {565, 12070}, {570, 12080},
     {575, 12090}, {580, 13000}, {590, 13010}}};

/** Of a driver that is not in the table that of the one before it, or newer. */
std::optional<KnownVersion> cuda_of(const std::optional<KnownVersion> &driver)
{
    if (!driver)
        return std::nullopt;
    const auto *const above = std::upper_bound(
        drivers.begin(), drivers.end(), driver->version,
        [](const DottedVersion &wanted, const DriverRow &row) { return wanted < DottedVersion{row.major}; });
    if (above == drivers.begin())
        return std::nullopt;
    const DriverRow &row = *(above - 1);
    return KnownVersion{{row.cuda / 1000, row.cuda % 1000 / 10},
                        driver->version >= DottedVersion{row.major + 1}};
}

std::optional<KnownVersion> parse_known(const std::string &version)
{
    const auto parsed = DottedVersion::parse(version);
    return parsed ? std::optional(KnownVersion{*parsed}) : std::nullopt;
}

/** Nothing for what is no operator. */
std::optional<bool> compare(std::strong_ordering order, std::string_view comparison)
{
    if (comparison == "=")
        return std::is_eq(order);
    if (comparison == "!=")
        return std::is_neq(order);
    if (comparison == "<")
        return std::is_lt(order);
    if (comparison == "<=")
        return std::is_lteq(order);
    if (comparison == ">")
        return std::is_gt(order);
    if (comparison == ">=")
        return std::is_gteq(order);
    return std::nullopt;
}

Answer is_met(const KnownVersion &known, std::string_view comparison, const DottedVersion &wanted)
{
    const auto order = known.version <=> wanted;
    // What holds for the least and for all above it, or for none of these, is certain.
    if (known.or_newer &&
        (std::is_lt(order) || (std::is_eq(order) && comparison != ">=" && comparison != "<")))
        return Answer::NotKnown;
    const auto holds = compare(order, comparison);
    return !holds ? Answer::NotKnown : *holds ? Answer::Yes : Answer::No;
}

/** @param driver, cuda nothing for what is not known */
Answer is_term_met(std::string_view term, const std::optional<KnownVersion> &driver,
                   const std::optional<KnownVersion> &cuda)
{
    constexpr std::string_view operator_characters = "<>=!";
    const size_t name_end = std::min(term.find_first_of(operator_characters), term.size());
    const size_t value_begin = std::min(term.find_first_not_of(operator_characters, name_end), term.size());
    const std::string_view name = term.substr(0, name_end);
    if (is_same_word(name, "brand"))
        return Answer::IfBrand;
    const auto &known = is_same_word(name, "driver") ? driver : cuda;
    const auto wanted = DottedVersion::parse(term.substr(value_begin));
    if (!known || !wanted || !(is_same_word(name, "driver") || is_same_word(name, "cuda")))
        return Answer::NotKnown;
    return is_met(*known, term.substr(name_end, value_begin - name_end), *wanted);
}

/** As Go's strconv.ParseBool has it; anything else is false. */
bool is_true(std::string_view value)
{
    constexpr std::array<std::string_view, 6> words{"1", "t", "T", "true", "TRUE", "True"};
    return contains(words, value);
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
std::string required_by_version(const std::string &version)
{
    const size_t begin = version.starts_with('v') ? 1 : 0;
    const size_t dot = version.find('.');
    return "cuda>=" +
           version.substr(begin, version.find('.', dot == std::string::npos ? dot : dot + 1) - begin);
}

} // namespace

Answer is_met(std::string_view requirement, const std::string &driver)
{
    const auto version = parse_known(driver);
    const auto cuda = cuda_of(version);
    std::optional<Answer> best;
    for (const std::string &alternative : split_list(requirement, ' ')) {
        std::optional<Answer> worst;
        for (const std::string &term : split_list(alternative)) {
            if (!term.empty())
                worst = std::min(worst.value_or(Answer::Yes), is_term_met(term, version, cuda));
        }
        best = std::max(best, worst);
    }
    return best.value_or(Answer::Yes);
}

std::vector<RequestValue> requirements_of(const Config &config)
{
    if (is_true(environment_value(config, "NVIDIA_DISABLE_REQUIRE").value_or("")))
        return {};
    std::vector<RequestValue> requirements;
    for (const auto &[name, value] : required_values(config)) {
        if (!value.empty())
            requirements.push_back({value, origin_of(name)});
    }
    if (is_legacy_cuda_image(config))
        requirements.push_back(
            {required_by_version(*environment_value(config, version_variable)), origin_of(version_variable)});
    return requirements;
}

void check_requirements(const std::vector<RequestValue> &requirements, const std::string &driver,
                        Notes &notes)
{
    const auto cuda = cuda_of(parse_known(driver));
    const std::string found =
        "driver " + (driver.empty() ? "not known" : driver) + ", cuda " +
        (cuda ? cuda->version.text() + (cuda->or_newer ? " or newer" : "") : "not known");
    std::set<LogLevel> said; // an image may have as many as it likes
    for (const RequestValue &required : requirements) {
        const Answer answer = is_met(required.value, driver);
        if (answer == Answer::Yes)
            continue;
        const std::string needs = "the image needs " + quote(required.value, max_shown) + " (" +
                                  required.origin + "), and this host has " + found;
        if (answer == Answer::No)
            throw Error(ErrorKind::NotAvailable,
                        needs + "; take an image for this driver, or a host with a newer one; "
                                "NVIDIA_DISABLE_REQUIRE=true in the container's environment has it start "
                                "nevertheless");
        const LogLevel level = answer == Answer::IfBrand ? LogLevel::Info : LogLevel::Warning;
        if (said.insert(level).second)
            notes.push_back({level, needs + ": no more is looked at, and whether that is enough cannot be "
                                            "told; if it is not, its programs fail"});
    }
}

} // namespace ogh::nvidia_devices
