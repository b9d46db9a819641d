// SPDX-License-Identifier: Apache-2.0
#include "nvidia-devices/request/imex_channels.h"

#include <algorithm>
#include <set>

#include "base/error.h"
#include "base/text.h"

namespace ogh::nvidia_devices {

namespace {

constexpr const char *channels_variable = "NVIDIA_IMEX_CHANNELS";

Error no_channels(const RequestValue &asked, const std::string &why)
{
    return {ErrorKind::Usage, "the " + asked.origin + " " + why + " in " + quote(asked.value) +
                                  "; it takes numbers of IMEX channels, 0 to " +
                                  std::to_string(imex_channel_limit - 1) +
                                  ", and ranges of them ('0-3'), separated by commas"};
}

IndexRange parse_channels(const std::string &item, const RequestValue &asked)
{
    const auto range = parse_index_range(item, imex_channel_limit - 1);
    if (!range)
        throw no_channels(asked, "has " + quote(item) + ", which is no channel and no range of them,");
    return *range;
}

std::vector<unsigned> channels_in(const std::vector<std::string> &items, const RequestValue &asked)
{
    std::set<unsigned> channels;
    for (const std::string &item : items) {
        const IndexRange range = parse_channels(item, asked);
        for (unsigned channel = range.first; channel <= range.last; ++channel) {
            channels.insert(channel);
            if (channels.size() > max_imex_channels)
                throw no_channels(asked,
                                  "asks for more than " + std::to_string(max_imex_channels) + " channels");
        }
    }
    return {channels.begin(), channels.end()};
}

} // namespace

std::vector<unsigned> parse_imex_channels(const RequestValue &asked)
{
    return channels_in(split_list(asked.value), asked);
}

ImexPolicy::ImexPolicy(const RequestValue &list) : all_(trimmed(list.value) == "all")
{
    if (all_)
        return;
    for (const std::string &item : split_list(list.value))
        ranges_.push_back(parse_channels(item, list));
}

void ImexPolicy::require(const std::vector<unsigned> &channels) const
{
    const auto refused =
        std::find_if(channels.begin(), channels.end(), [&](unsigned channel) { return !has(channel); });
    if (refused != channels.end())
        throw Error(ErrorKind::Denied,
                    "no IMEX channel '" + std::to_string(*refused) +
                        "': the host's policy (--allow-imex) does not hand it out; it hands out " + text());
}

std::string ImexPolicy::text() const
{
    std::string text = all_ ? "all" : "";
    for (const IndexRange &range : ranges_) {
        text += (text.empty() ? "" : ",") + std::to_string(range.first);
        if (range.last != range.first)
            text += "-" + std::to_string(range.last);
    }
    return text.empty() ? "none" : text;
}

bool ImexPolicy::has(unsigned channel) const
{
    return all_ || std::any_of(ranges_.begin(), ranges_.end(), [&](const IndexRange &range) {
               return channel >= range.first && channel <= range.last;
           });
}

std::vector<unsigned> imex_channels_of_environment(const Config &config)
{
    const RequestValue asked{environment_value(config, channels_variable).value_or(""),
                             "environment variable " + quote(channels_variable)};
    if (asked.value.size() > max_request_size)
        throw Error(ErrorKind::Usage,
                    "the " + asked.origin + " is longer than " + std::to_string(max_request_size) + " bytes");
    auto items = split_list(asked.value);
    std::erase(items, "");
    const auto has = [&](const char *word) {
        return std::find(items.begin(), items.end(), word) != items.end();
    };
    if (has("void") || has("none") || (items.size() == 1 && has("all")))
        return {};
    return channels_in(items, asked);
}

} // namespace ogh::nvidia_devices
