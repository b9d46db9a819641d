// SPDX-License-Identifier: Apache-2.0
#include "base/what.h"

#include "base/text.h"

namespace ogh {

std::string What::text() const
{
    std::string text(words_);
    if (has_path_)
        text.append(quote(path_)).append(behind_);
    return text;
}

} // namespace ogh
