// SPDX-License-Identifier: Apache-2.0
#include "oci/container_label.h"

#include <fcntl.h>

#include <initializer_list>

#include "base/error.h"
#include "base/file.h"
#include "base/unique_fd.h"

namespace ogh {

namespace {

constexpr size_t max_name = 128;
constexpr size_t max_image = 512;

/** The first of these annotations that is there. */
std::string first_of(const Config &config, std::initializer_list<std::string_view> keys, size_t most)
{
    for (const std::string_view key : keys) {
        const auto found = config.annotations.find(key);
        if (found != config.annotations.end() && !found->second.empty())
            return found->second.substr(0, most);
    }
    return "";
}

} // namespace

ContainerLabel label_of(const Config &config)
{
    ContainerLabel label;
    const std::string pod =
        first_of(config, {"io.kubernetes.cri.sandbox-name", "io.kubernetes.pod.name"}, max_name);
    label.name =
        first_of(config, {"io.kubernetes.cri.container-name", "io.kubernetes.container.name"}, max_name);
    if (!pod.empty() && !label.name.empty())
        label.name.insert(0, pod + "/");
    label.image =
        first_of(config, {"io.kubernetes.cri.image-name", "io.kubernetes.cri-o.ImageName"}, max_image);
    label.user =
        first_of(config, {"io.kubernetes.cri.sandbox-namespace", "io.kubernetes.pod.namespace"}, max_name);
    return label;
}

std::string login_user()
{
    constexpr size_t most = 16;
    constexpr const char *nobody = "4294967295";
    const UniqueFd file(::open("/proc/self/loginuid", O_RDONLY | O_CLOEXEC));
    if (!file.valid())
        return "";
    try {
        std::string text = read_all(file.get(), most, "the login user", most);
        return text == nobody ? "" : text;
    } catch (const Error &) {
        return ""; // for people alone
    }
}

} // namespace ogh
