// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/error.h"
#include "base/unique_fd.h"

namespace ogh {

/** A run was told to end, or its time is over. Whoever goes on after other errors does not after this one. */
class Cancelled final : public Error {
public:
    /** @param kind TimedOut if its time is over */
    explicit Cancelled(const std::string &message, ErrorKind kind = ErrorKind::Failure) : Error(kind, message)
    {
    }
};

/**
 * From now on SIGTERM, SIGINT and SIGHUP end nothing by themselves: they stay pending, for those who look.
 * @throws SystemError
 */
void block_end_signals();

/** Blocks no signal, for a program that is about to be run. @return whether it could be done */
bool unblock_signals() noexcept;

/**
 * Readable while one of these signals is pending, once they are blocked; nothing is taken from it.
 * @param another signal that it is readable for as well; 0: none. @throws SystemError
 */
UniqueFd watch_end_signals(int another = 0);

/** Takes one that is pending. @return its number, or 0 */
int take_end_signal() noexcept;

/** @param at what is being done, in words that follow "while". @throws Cancelled if one is pending: it stays so */
void check_end_signals(const std::string &at);

} // namespace ogh
