// SPDX-License-Identifier: Apache-2.0
#include "libraries/loader_image.h"

namespace ogh {

namespace {

constexpr size_t max_cache_size = size_t{16} << 20U;
constexpr size_t max_text_size = size_t{1} << 20U;

} // namespace

LoaderImage read_loader_image(ContainerView &view, bool has_glibc,
                              const std::vector<std::string> &musl_machines)
{
    LoaderImage image;
    image.has_glibc = has_glibc;
    if (has_glibc) {
        image.cache = read_loader_file(view, loader_cache_path, max_cache_size);
        image.conf = read_loader_file(view, loader_conf_path, max_text_size);
        image.own_conf = read_loader_file(view, own_loader_conf_path, max_text_size);
    }
    // musl names its path file after the machine, as its loader (musl, ldso/dynlink.c).
    for (const std::string &machine : musl_machines) {
        const std::string path = "/etc/ld-musl-" + machine + ".path";
        image.musl.push_back({path, read_loader_file(view, path, max_text_size)});
    }
    return image;
}

} // namespace ogh
