// SPDX-License-Identifier: Apache-2.0
#include "request/pod_limit.h"

#include "base/error.h"
#include "base/text.h"
#include "request/annotations.h"

namespace ogh {

void check_pod(std::string_view hook, const Config &config, const OptInOptions &options,
               const std::string &origin)
{
    const std::string_view key = pod_key(config);
    if (key.empty() || options.has_limit || options.needs_no_limit)
        return;
    std::string install = std::string("oci-gpu-hooks install --engine ") +
                          (key == crio_pod_key ? "crio " : "containerd --runtime NAME ") + std::string(hook);
    for (const std::string &word : options.words)
        install += " " + quote(word);
    throw Error(ErrorKind::Denied,
                "a pod's author is not the host's administrator: the " + origin +
                    " counts only where the hook has a limit (--only, --allow, --max-devices or "
                    "--quota), and it has none; for example: " +
                    install + " --only " + std::string(key) + "=NAMESPACE, see the guide kubernetes.md");
}

} // namespace ogh
