// SPDX-License-Identifier: Apache-2.0
#include "doctor/check_key_file.h"

#include <unistd.h>

#include "base/error.h"
#include "base/text.h"
#include "request/key_file.h"

namespace ogh::admin {

std::optional<Finding> check_key_file(const Sysroot &sysroot, const HookFile &file)
{
    const auto path = option_of(file, "--key-file");
    if (!path || !path->starts_with('/'))
        return std::nullopt;
    if (::geteuid() != 0)
        return Finding{Severity::Note,
                       "the key file " + quote(*path) + " is not looked at: it is root's alone",
                       "run this as root"};
    const std::string hook(file.ours->name);
    const std::string refused = ": " + hook + " refuses each container that asks by its environment";
    try {
        const auto text = read_key_text(sysroot, *path);
        if (!text)
            return Finding{Severity::Error, "the key file " + quote(*path) + " is not there" + refused,
                           "oci-gpu-hooks key new NAME --hook " + hook};
        static_cast<void>(KeyFile(*text));
    } catch (const Error &error) {
        return Finding{Severity::Error, error.what() + refused, "fix the key file " + quote(*path)};
    }
    return std::nullopt;
}

} // namespace ogh::admin
