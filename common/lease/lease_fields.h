// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lease/lease_state.h"
#include "lease/lease_words.h"

namespace ogh {

// What stands in lines of several kinds, and in both versions of the lease file: written, and read again.

void add_fields(LeaseLine &line, const LeasedDevice &device);
void add_fields(LeaseLine &line, const Demand &demand);

/** @param program in place of the holder's own */
void add_fields(LeaseLine &line, const Holder &holder, std::string_view program);

/** What limits a device or a request besides; nothing where nothing does. They come last of what is known of a line. */
void add_limits(LeaseLine &line, const Quotas &quotas, const std::optional<unsigned> &max_sharers);

/** What a container may be ended by; of a holding, last of what is known. Nothing where nothing does. */
void add_endings(LeaseLine &line, const Allocation &allocation);

/** What a ticket watches, if it says so; behind its limits. */
void add_watched(LeaseLine &line, const std::optional<Watched> &watched);

/** LeaseState::quick_ends of a device; of its use, last of what is known. */
void add_quick_ends(LeaseLine &line, const std::vector<std::uint64_t> &containers);

/** The words of it, in the order of the file. */
std::vector<std::string> watched_words(const Watched &watched);

/** Of a time; one before its clock began is 0. */
std::uint64_t time_word(std::int64_t time);

/** @throws Error (BrokenHost), all of them, that names the field and the line */
LeasedDevice take_device(LeaseWords &words);
Demand take_demand(LeaseWords &words);
void take_limits(LeaseWords &words, Quotas &quotas, std::optional<unsigned> &max_sharers);
void take_endings(LeaseWords &words, Allocation &allocation);
std::optional<Watched> take_watched(LeaseWords &words);
std::vector<std::uint64_t> take_quick_ends(LeaseWords &words);
Holder take_holder(LeaseWords &words);
LeaseKey take_key(LeaseWords &words);
ProcessId take_process(LeaseWords &words, const char *name, const char *start);
std::int64_t take_time(LeaseWords &words, const char *name);

} // namespace ogh
