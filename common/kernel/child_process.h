// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <string>

namespace ogh {

/**
 * Runs `work` in a child process that shares this one's table of descriptors, and waits for its end: for what takes
 * this process to another namespace for good. What the child opens and does not close stays open here.
 * @param what goes wrong if there can be no child, for the message
 * @param work throws nothing: an exception ends the child as a signal does
 * @return what `work` returned; nothing if the child was killed
 * @throws SystemError
 */
std::optional<int> run_in_child(const std::string &what, const std::function<int()> &work);

} // namespace ogh
