// SPDX-License-Identifier: Apache-2.0
#include "host/pci_devices.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>

namespace ogh {

namespace {

/** Symlinks are followed: the kernel's own are relative, and stay in sysfs. */
UniqueFd open_in(int directory, const std::string &path)
{
    // Not blocking: a FIFO in a tree made by hand must not hold up the start of a container.
    return UniqueFd(::openat(directory, path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
}

/**
 * Documentation/ABI/testing/sysfs-devices-power in the kernel. A kernel that does not manage power says nothing, or
 * "unsupported": the device is awake.
 */
bool sleeps(int directory, const std::string &device)
{
    const UniqueFd file = open_in(directory, device + "/power/runtime_status");
    std::array<char, 32> text{};
    const ssize_t size = file.valid() ? ::read(file.get(), text.data(), text.size()) : 0;
    const std::string_view status(text.data(), static_cast<size_t>(std::max<ssize_t>(size, 0)));
    return status.starts_with("suspend") || status.starts_with("resuming"); // "suspended", "suspending"
}

/** Nothing: it cannot be read. */
std::optional<std::uint32_t> dword(int config, off_t offset)
{
    std::uint32_t value = 0;
    if (::pread(config, &value, sizeof value, offset) != static_cast<ssize_t>(sizeof value))
        return std::nullopt;
    return value;
}

} // namespace

PciDevices::PciDevices(const Sysroot &sysroot) : directory_(sysroot.find("/sys/bus/pci/devices")) {}

PciAnswer PciDevices::ask(const PciAddress &address) const
{
    constexpr std::uint32_t ones = ~std::uint32_t{0};
    constexpr off_t class_offset = 8;
    const std::string device = to_text(address);
    if (!directory_ || sleeps(directory_->fd.get(), device))
        return PciAnswer::NotAsked;
    const UniqueFd config = open_in(directory_->fd.get(), device + "/config");
    const auto vendor = config.valid() ? dword(config.get(), 0) : std::nullopt;
    if (!vendor || *vendor != ones)
        return vendor ? PciAnswer::Answers : PciAnswer::NotAsked;
    const auto device_class = dword(config.get(), class_offset);
    if (!device_class)
        return PciAnswer::NotAsked;
    return *device_class == ones ? PciAnswer::None : PciAnswer::Answers;
}

std::set<PciAddress> PciDevices::dead_among(const std::set<PciAddress> &addresses) const
{
    std::set<PciAddress> dead;
    std::copy_if(addresses.begin(), addresses.end(), std::inserter(dead, dead.end()),
                 [this](const PciAddress &address) { return ask(address) == PciAnswer::None; });
    return dead;
}

} // namespace ogh
