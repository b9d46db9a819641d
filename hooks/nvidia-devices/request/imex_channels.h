// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "oci/config.h"
#include "request/request.h"
#include "request/selectors.h"

namespace ogh::nvidia_devices {

/** The numbers of channels end below this one, whatever driver it is. */
constexpr unsigned imex_channel_limit = 1U << 20U;

/** How many channels one container may ask for: each is a node, and a rule of its device cgroup. */
constexpr unsigned max_imex_channels = 256;

/**
 * Understands a list, separated by commas, of numbers of IMEX channels and ranges of them (`0-3`). Blanks around items
 * and repeats are allowed.
 * @return ascending, each once
 * @throws Error (Usage), also for more than max_imex_channels
 */
std::vector<unsigned> parse_imex_channels(const RequestValue &asked);

/** The channels that a host hands out; none unless it says so. */
class ImexPolicy final {
public:
    ImexPolicy() = default;

    /** Understands --allow-imex: such a list, without a limit to how many they are, or `all`. @throws Error (Usage) */
    explicit ImexPolicy(const RequestValue &list);

    /** @throws Error (Policy) for the first that is not handed out, with those that are */
    void require(const std::vector<unsigned> &channels) const;

    /** "0-3,8", "all" or "none". */
    [[nodiscard]] std::string text() const;

private:
    [[nodiscard]] bool has(unsigned channel) const;

    bool all_ = false;
    std::vector<IndexRange> ranges_; ///< as they were written
};

/**
 * NVIDIA_IMEX_CHANNELS, as NVIDIA's toolkit understands it: empty items are dropped, and `void` anywhere, `none`, or a
 * lone `all` ask for none.
 * @throws Error (Usage)
 */
std::vector<unsigned> imex_channels_of_environment(const Config &config);

} // namespace ogh::nvidia_devices
