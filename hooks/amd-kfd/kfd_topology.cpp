// SPDX-License-Identifier: Apache-2.0
#include "amd-kfd/kfd_topology.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <limits>

#include "base/contains.h"
#include "base/error.h"
#include "base/number.h"
#include "base/text.h"
#include "base/unique_fd.h"
#include "kernel/directory_entries.h"

namespace ogh::amd_kfd {

namespace {

constexpr size_t max_file_size = 8192; // twice the page that a file of sysfs can have

SysfsFile failed(int error_number, const std::string &path, const std::string &what)
{
    if (const auto state = state_of_error(error_number))
        return {*state};
    throw SystemError(error_number, "cannot read " + quote(what + "/" + path), ErrorKind::BrokenHost);
}

constexpr std::array<unsigned, 15> integrated{
    70000,  80001,  80100,          // Kaveri, Carrizo, Stoney
    90002,  90009,  90012,          // Raven, Raven 2, Renoir and Cezanne
    100103, 100303, 100305, 100306, // Cyan Skillfish, Van Gogh, Rembrandt, Raphael
    110003, 110500, 110501, 110502, // Phoenix, Strix Point, Strix Halo, Krackan
    110503,
};

struct Override {
    unsigned first;
    unsigned last;
    const char *value;
};

constexpr std::array<Override, 3> overrides{{{100301, 100306, "10.3.0"}, // Navi 2x; gfx1030 itself needs none
                                             {110003, 110003, "11.0.0"},
                                             {110500, 110500, "11.5.1"}}};

// What /sys/class/kfd/kfd leads to: the device has no parent (kfd_chardev_init() of the kernel's kfd_chardev.c).
constexpr const char *kfd_directory = "/sys/devices/virtual/kfd/kfd";
constexpr const char *nodes_directory = "topology/nodes";
constexpr size_t max_kfd_nodes = 1024;
constexpr std::uint64_t max_banks = 16;
constexpr unsigned first_render_minor = 128; // lower ones are cards
constexpr unsigned last_minor = 0xFFFFF;

struct Key {
    std::string_view name;
    std::uint64_t KfdProperties::*value;
};

constexpr std::array<Key, 7> keys{{
    {"simd_count", &KfdProperties::simd_count},
    {"cpu_cores_count", &KfdProperties::cpu_cores_count},
    {"mem_banks_count", &KfdProperties::mem_banks_count},
    {"local_mem_size", &KfdProperties::local_mem_size},
    {"unique_id", &KfdProperties::unique_id},
    {"location_id", &KfdProperties::location_id},
    {"domain", &KfdProperties::domain},
}};

void set(KfdProperties &properties, std::string_view name, std::string_view text)
{
    const auto *const key =
        std::find_if(keys.begin(), keys.end(), [&](const Key &each) { return each.name == name; });
    const bool is_gfx = name == "gfx_target_version";
    if (key == keys.end() && !is_gfx && name != "drm_render_minor")
        return; // as most lines are
    const auto value = parse_number(text);
    if (!value)
        return;
    if (key != keys.end())
        properties.*key->value = *value;
    else if (is_gfx && *value <= std::numeric_limits<unsigned>::max())
        properties.gfx.number = static_cast<unsigned>(*value);
    else if (!is_gfx && *value >= first_render_minor && *value <= last_minor)
        properties.render_minor = static_cast<unsigned>(*value);
}

/** The heap of a memory bank that is the GPU's own; the first of them is the part that a CPU can reach. */
bool is_own_heap(std::uint64_t type)
{
    return type == 1 || type == 2;
}

/** The number behind a key in a file of lines of a key, a blank and a number; 0 if it has no such line. */
std::uint64_t value_of(std::string_view text, std::string_view key)
{
    for (const std::string_view line : split_views(text, '\n')) {
        if (line.starts_with(key) && line.size() > key.size() && line[key.size()] == ' ')
            return parse_number(line.substr(key.size() + 1)).value_or(0);
    }
    return 0;
}

} // namespace

std::optional<SysfsFile::State> state_of_error(int error_number)
{
    if (error_number == ENOENT || error_number == ENODEV)
        return SysfsFile::State::Missing;
    if (error_number == EPERM || error_number == EACCES)
        return SysfsFile::State::Hidden;
    return std::nullopt;
}

SysfsFile read_sysfs_file(int directory, const std::string &path, const std::string &what)
{
    // Not blocking: a FIFO in a tree made by hand must not hold up the start of a container.
    const UniqueFd fd(::openat(directory, path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    if (!fd.valid())
        return failed(errno, path, what);
    // sysfs gives a whole file at once.
    std::array<char, max_file_size> text{};
    const ssize_t size = ::read(fd.get(), text.data(), text.size());
    if (size < 0)
        return failed(errno, path, what);
    if (static_cast<size_t>(size) == text.size())
        throw Error(ErrorKind::BrokenHost, quote(what + "/" + path) + " is larger than any file of sysfs");
    std::string_view content(text.data(), static_cast<size_t>(size));
    if (content.ends_with('\n'))
        content.remove_suffix(1);
    return {SysfsFile::State::Read, std::string(content)};
}

std::optional<DeviceNumber> read_device_number(int directory, const std::string &path,
                                               const std::string &what)
{
    const SysfsFile file = read_sysfs_file(directory, path, what);
    if (file.state == SysfsFile::State::Missing)
        return std::nullopt;
    const auto number = parse_device_number(file.text);
    if (!number)
        throw Error(ErrorKind::BrokenHost, quote(what + "/" + path) + " has no device number");
    return number;
}

std::string name_of(GfxVersion version)
{
    if (version.number == 0)
        return "";
    return "gfx" + std::to_string(version.number / 10000) + hexadecimal(version.number / 100 % 100, 1) +
           hexadecimal(version.number % 100, 1);
}

bool is_integrated(GfxVersion version)
{
    return contains(integrated, version.number);
}

std::string override_text(GfxVersion version)
{
    for (const Override &each : overrides) {
        if (version.number >= each.first && version.number <= each.last)
            return std::string(override_variable) + "=" + each.value;
    }
    return "";
}

KfdProperties parse_kfd_properties(std::string_view text)
{
    KfdProperties properties;
    while (!text.empty()) {
        std::string_view value = next_part(text, '\n');
        const std::string_view name = next_part(value, ' ');
        set(properties, name, value);
    }
    return properties;
}

PciAddress parent_address(const KfdProperties &properties)
{
    return {static_cast<std::uint32_t>(properties.domain),
            static_cast<std::uint8_t>(properties.location_id >> 8U & 0xFFU),
            static_cast<std::uint8_t>(properties.location_id >> 3U & 0x1FU), 0};
}

unsigned partition_number(const KfdProperties &properties)
{
    return static_cast<unsigned>(properties.location_id & 7U);
}

void add_node(KfdTopology &topology, const std::string &name, const SysfsFile &properties)
{
    if (properties.state == SysfsFile::State::Hidden)
        ++topology.hidden;
    if (properties.state != SysfsFile::State::Read)
        return;
    const KfdProperties parsed = parse_kfd_properties(properties.text);
    if (parsed.is_gpu())
        topology.gpus.push_back({name, parsed});
}

KfdClass::KfdClass(const Sysroot &sysroot)
    : place_(sysroot.find(kfd_directory)), what_(sysroot.on_host(kfd_directory))
{
}

std::optional<DeviceNumber> KfdClass::number() const
{
    return place_ ? read_device_number(place_->fd.get(), "dev", what_) : std::nullopt;
}

KfdTopology KfdClass::topology() const
{
    KfdTopology topology;
    if (!place_)
        return topology;
    const std::string what = what_ + "/" + nodes_directory;
    const UniqueFd nodes(::openat(place_->fd.get(), nodes_directory, O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!nodes.valid() && errno == ENOENT)
        return topology;
    if (!nodes.valid())
        throw SystemError(errno, "cannot open " + quote(what), ErrorKind::BrokenHost);
    const auto is_node = [](std::string_view name) { return parse_number(name).has_value(); };
    for (const auto &entry :
         list_directory(nodes.get(), {quote(what), is_node, max_kfd_nodes, ErrorKind::BrokenHost}))
        add_node(topology, entry.name, read_sysfs_file(nodes.get(), entry.name + "/properties", what));
    return topology;
}

std::optional<std::uint64_t> KfdClass::memory(const std::string &name, const KfdProperties &properties) const
{
    std::uint64_t size = 0;
    for (std::uint64_t bank = 0; place_ && bank < std::min(properties.mem_banks_count, max_banks); ++bank) {
        const std::string path =
            std::string(nodes_directory) + "/" + name + "/mem_banks/" + std::to_string(bank) + "/properties";
        const SysfsFile file = read_sysfs_file(place_->fd.get(), path, what_);
        if (is_own_heap(value_of(file.text, "heap_type")))
            size += value_of(file.text, "size_in_bytes");
    }
    if (size == 0)
        size = properties.local_mem_size;
    return size == 0 ? std::nullopt : std::optional(size);
}

} // namespace ogh::amd_kfd
