// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "nvidia-devices/host/inventory.h"
#include "oci/config.h"
#include "request/device_plugin.h"
#include "request/selectors.h"

namespace ogh::nvidia_devices {

/**
 * How NVIDIA's device plugin for Kubernetes names GPUs, by its `deviceListStrategy`. Its own kind of CDI is that of the
 * specification which it writes itself, and its own prefix of annotations what NVIDIA's operator sets, so that engines
 * leave them to others.
 */
PluginNames nvidia_plugin_names();

/** Whether NVIDIA's tools have put a hook of theirs into config.json: its runtime wrapper, or an engine by CDI. */
bool has_vendor_hook(const Config &config);

/**
 * Understands a list, separated by commas, of numbers of IMEX channels and ranges of them (`0-3`). Blanks around items
 * and repeats are allowed.
 * @return ascending, each once
 * @throws Error (Usage), also for more than 256
 */
std::vector<unsigned> parse_imex_channels(const RequestValue &asked);

/**
 * NVIDIA_IMEX_CHANNELS, as NVIDIA's toolkit understands it: empty items are dropped, and `void` anywhere, `none`, or a
 * lone `all` ask for none.
 * @throws Error (Usage)
 */
std::vector<unsigned> imex_channels_of_environment(const Config &config);

/** Those that NVIDIA's device plugin gives in the place where it names the GPUs. @throws Error (Usage) */
std::vector<unsigned> imex_channels_of_plugin(const Config &config, PluginSource source);

/** The channels that a host hands out; none unless it says so. */
class ImexPolicy final {
public:
    ImexPolicy() = default;

    /** Understands --allow-imex: such a list, without a limit to how many they are, or `all`. @throws Error (Usage) */
    explicit ImexPolicy(const RequestValue &list);

    /** @throws Error (Denied) for the first that is not handed out, with those that are */
    void require(const std::vector<unsigned> &channels) const;

    /** As the host has written it, or "none". */
    [[nodiscard]] const std::string &text() const { return text_; }

private:
    std::string text_ = "none";
    std::vector<IndexRange> ranges_;
};

/**
 * How many the driver has: ImexChannelCount of its params, from channel 0 on; where it does not say, as many as there may
 * be. 0 if it has no such devices.
 */
unsigned imex_channel_count(const Inventory &inventory);

/** @throws Error (NotAvailable) for the first channel that the driver does not have */
void require_imex_channels(const Inventory &inventory, const std::vector<unsigned> &channels);

/** What --list says: "0-2047, allowed: 0-3"; nothing if the driver has none. */
std::optional<std::string> imex_fact(const Inventory &inventory, const ImexPolicy &policy);

} // namespace ogh::nvidia_devices
