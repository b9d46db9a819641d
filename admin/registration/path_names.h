// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace ogh::admin {

/** The folder that an absolute path is in. */
std::string folder_of(const std::string &path);

/** Its last component. */
std::string name_of(const std::string &path);

} // namespace ogh::admin
