// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

namespace ogh {

class LeaseDirectory;
class Sysroot;

constexpr size_t exit_statuses = 7; ///< see ExitStatus

/** By the name of the hook: with which exit status it has ended how often. */
using Refusals = std::map<std::string, std::array<std::uint64_t, exit_statuses>>;

/**
 * Counts one more, in the file `refusals` beside the state, a JSON object. It has a lock of its own, as what is refused may be
 * that somebody keeps the other one. What fails is nobody's error: no container waits for numbers.
 */
void count_refusal(const LeaseDirectory &directory, const std::string &hook, size_t status) noexcept;

/** @return nothing where none has been counted. @throws Error (BrokenHost) for who may not read them */
Refusals read_refusals(const Sysroot &sysroot);

} // namespace ogh
