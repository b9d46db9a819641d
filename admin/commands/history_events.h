// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "host/sysroot.h"

namespace ogh::admin {

/** A member of an event that is a number; 0 for any other. */
double event_number(const nlohmann::json &event, const char *name);

/** The keys of the GPUs that it is about. */
std::vector<std::string> gpus_of(const nlohmann::json &event);

/**
 * The events of a history and of the one before it, oldest first. An end has the names of its container too.
 * @throws Error (NotAvailable) if there is none; BrokenHost if it cannot be read
 */
std::vector<nlohmann::json> read_events(const Sysroot &sysroot, const std::string &path);

} // namespace ogh::admin
