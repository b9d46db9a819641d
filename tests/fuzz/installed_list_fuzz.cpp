// SPDX-License-Identifier: Apache-2.0
#include "promise.h"
#include "registration/manifest.h"
#include "target.h"

namespace ogh::fuzz::installed_list {

using namespace ogh::admin;

void check(std::string_view input)
{
    const auto list = attempt([&] { return Manifest::parse(input, Manifest::path); });
    require(list.value || list.kind == ErrorKind::BrokenHost, "a list that is wrong is the host's fault");
    if (!list.value)
        return;
    require(list.value->files.size() <= 256, "the limits are kept");
    const Manifest again = Manifest::parse(list.value->to_text(), Manifest::path);
    require(again.to_text() == list.value->to_text(), "what is written is read as it was");
    for (const InstalledFile &file : again.files)
        require(again.find(file.path) != nullptr, "a file is found by its path");
}

} // namespace ogh::fuzz::installed_list
