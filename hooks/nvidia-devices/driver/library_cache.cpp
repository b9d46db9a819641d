// SPDX-License-Identifier: Apache-2.0
#include "nvidia-devices/driver/library_cache.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <optional>
#include <set>
#include <string_view>
#include <variant>

#include "base/error.h"
#include "base/file.h"
#include "base/path_names.h"
#include "base/text.h"
#include "base/unique_fd.h"
#include "loader/ld_cache.h"
#include "loader/ld_cache_format.h"
#include "nvidia-devices/driver/library_table.h"

namespace ogh::nvidia_devices {

namespace {

constexpr const char *cache_path = "/etc/ld.so.cache";
constexpr size_t max_cache_size = 16UL << 20U; // bytes; ten thousands of libraries make one or two MiB

/** Every library of the driver begins so: a cache has thousands of others, and each is looked at. */
constexpr std::array<std::string_view, 5> beginnings{"libcuda", "libnv", "libGL", "libEGL_", "libvdpau_"};

/** The names that are looked for: "libcuda", "libnvidia-egl-gbm". Most libraries called libGL are libglvnd's. */
std::set<std::string_view> names_without_version()
{
    std::set<std::string_view> names;
    for (const LibraryName &each : library_names()) {
        if (each.instead_of.empty())
            names.insert(each.name.substr(0, each.name.find(".so")));
    }
    return names;
}

std::vector<CachedLibrary> drivers_of(const LdCache &cache)
{
    const std::set<std::string_view> names = names_without_version();
    const auto is_the_drivers = [&](std::string_view name) {
        return std::any_of(beginnings.begin(), beginnings.end(),
                           [&](std::string_view beginning) { return name.starts_with(beginning); }) &&
               names.contains(name.substr(0, name.find(".so")));
    };
    std::vector<CachedLibrary> libraries;
    for (const LdCacheEntry &entry : cache.entries) {
        // What is below glibc-hwcaps runs on some processors alone.
        if (is_the_drivers(entry.name) && entry.path.starts_with('/') && entry.subdirectory.empty())
            libraries.push_back({std::string(entry.name), std::string(entry.path),
                                 entry.flags & ld_cache_format::flags_machine_mask});
    }
    return libraries;
}

/** Its bytes: mostly more than a hundred KiB, read in one go. @throws Error if they cannot be read */
std::optional<std::string> read_cache(const DriverRoot &root)
{
    const auto cache = root.find(cache_path);
    const auto directory = cache ? root.find(directory_of(cache->place.path)) : std::nullopt;
    if (!directory)
        return std::nullopt;
    const std::string what = quote(root.on_host(cache_path));
    const UniqueFd fd(::openat(directory->place.fd.get(), file_name_of(cache->place.path).c_str(),
                               O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    struct stat status {};
    if (!fd.valid() || ::fstat(fd.get(), &status) != 0)
        throw SystemError(errno, "cannot read " + what);
    if (!S_ISREG(status.st_mode))
        throw Error(ErrorKind::BrokenHost, "cannot read " + what + ": it is no plain file");
    return read_all(fd.get(), max_cache_size, what,
                    std::min(static_cast<size_t>(status.st_size), max_cache_size));
}

} // namespace

std::vector<CachedLibrary> read_library_cache(const DriverRoot &root, Notes &notes)
{
    const auto useless = [&](const std::string &why) {
        notes.push_back({LogLevel::Info, why + "; the driver's libraries are looked for in directories"});
        return std::vector<CachedLibrary>();
    };
    std::optional<std::string> bytes;
    try {
        bytes = read_cache(root);
    } catch (const Error &error) {
        return useless(error.what());
    }
    if (!bytes)
        return {};
    const auto parsed = parse_ld_cache(*bytes);
    if (const auto *problem = std::get_if<NoLdCache>(&parsed))
        return useless(quote(root.on_host(cache_path)) + " is ignored: " + problem->why);
    return drivers_of(std::get<LdCache>(parsed));
}

} // namespace ogh::nvidia_devices
