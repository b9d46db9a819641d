// SPDX-License-Identifier: Apache-2.0
#include "amd-kfd/drm_class.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>

#include "base/error.h"
#include "base/number.h"
#include "base/text.h"
#include "host/host_file.h"
#include "kernel/directory_entries.h"

namespace ogh::amd_kfd {

namespace {

constexpr const char *drm_directory = "/sys/class/drm";
constexpr size_t max_drm_nodes = 4096;
constexpr unsigned max_minor = 0xFFFFF;
constexpr std::string_view card_prefix = "card";
constexpr std::string_view render_prefix = "renderD";

/** The number behind `prefix`; nothing if the name is any other: connectors are called "card1-DP-1". */
std::optional<unsigned> number_of(std::string_view name, std::string_view prefix)
{
    return name.starts_with(prefix) ? parse_small_number(name.substr(prefix.size()), max_minor)
                                    : std::nullopt;
}

} // namespace

std::string render_name(unsigned render_minor)
{
    return std::string(render_prefix) + std::to_string(render_minor);
}

DrmClass::DrmClass(const Sysroot &sysroot)
    : place_(sysroot.find(drm_directory)), what_(sysroot.on_host(drm_directory))
{
}

std::string DrmClass::device(unsigned render_minor) const
{
    return place_ ? linked_name(place_->fd.get(), render_name(render_minor) + "/device") : "";
}

std::optional<DrmNode> DrmClass::render(unsigned render_minor) const
{
    return read_node(render_name(render_minor));
}

std::optional<DrmNode> DrmClass::card(unsigned render_minor, const std::string &device)
{
    if (!place_ || device.empty())
        return std::nullopt;
    // A driver makes the nodes of its devices one after the other, so most are as far apart as the last were; to ask
    // one symlink is much cheaper than to list a directory.
    std::string name = std::string(card_prefix) + std::to_string(render_minor - distance_);
    if (linked_name(place_->fd.get(), name + "/device") != device)
        name = listed_card(render_minor);
    if (const auto number = number_of(name, card_prefix))
        distance_ = render_minor - *number;
    return name.empty() ? std::nullopt : read_node(name);
}

std::uint64_t DrmClass::unique_id(unsigned render_minor) const
{
    return parse_number(read(render_minor, "unique_id").text, 16).value_or(0);
}

std::optional<std::uint64_t> DrmClass::memory(unsigned render_minor) const
{
    return parse_number(read(render_minor, "mem_info_vram_total").text);
}

std::vector<std::string> DrmClass::amdgpu_devices() const
{
    std::vector<std::string> devices;
    if (!place_)
        return devices;
    const auto is_render = [](std::string_view name) { return number_of(name, render_prefix).has_value(); };
    for (const auto &entry :
         list_directory(place_->fd.get(), {quote(what_), is_render, max_drm_nodes, ErrorKind::BrokenHost})) {
        if (linked_name(place_->fd.get(), entry.name + "/device/driver") == "amdgpu")
            devices.push_back(linked_name(place_->fd.get(), entry.name + "/device"));
    }
    std::sort(devices.begin(), devices.end());
    return devices;
}

std::string DrmClass::listed_card(unsigned render_minor) const
{
    const std::string path = render_name(render_minor) + "/device/drm";
    const UniqueFd directory(::openat(place_->fd.get(), path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!directory.valid() && errno == ENOENT)
        return "";
    const std::string what = quote(what_ + "/" + path);
    if (!directory.valid())
        throw SystemError(errno, "cannot open " + what, ErrorKind::BrokenHost);
    const auto is_card = [](std::string_view name) { return number_of(name, card_prefix).has_value(); };
    const auto cards = list_directory(directory.get(), {what, is_card, max_drm_nodes, ErrorKind::BrokenHost});
    return cards.empty() ? "" : cards.front().name;
}

std::optional<DrmNode> DrmClass::read_node(const std::string &name) const
{
    const auto number = place_ ? read_device_number(place_->fd.get(), name + "/dev", what_) : std::nullopt;
    return number ? std::optional(DrmNode{name, number->major, number->minor}) : std::nullopt;
}

SysfsFile DrmClass::read(unsigned render_minor, const std::string &name) const
{
    return place_ ? read_sysfs_file(place_->fd.get(), render_name(render_minor) + "/device/" + name, what_)
                  : SysfsFile();
}

} // namespace ogh::amd_kfd
