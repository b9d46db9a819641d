// SPDX-License-Identifier: Apache-2.0
#include "registration/path_names.h"

namespace ogh::admin {

std::string folder_of(const std::string &path)
{
    const size_t end = path.rfind('/');
    return end == 0 ? "/" : path.substr(0, end);
}

std::string name_of(const std::string &path)
{
    return path.substr(path.rfind('/') + 1);
}

} // namespace ogh::admin
