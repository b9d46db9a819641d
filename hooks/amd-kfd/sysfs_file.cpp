// SPDX-License-Identifier: Apache-2.0
#include "amd-kfd/sysfs_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string_view>

#include "base/error.h"
#include "base/text.h"
#include "base/unique_fd.h"

namespace ogh::amd_kfd {

namespace {

constexpr size_t max_file_size = 8192; // twice the page that a file of sysfs can have

SysfsFile failed(int error_number, const std::string &path, const std::string &what)
{
    if (const auto state = state_of_error(error_number))
        return {*state};
    throw SystemError(error_number, "cannot read " + quote(what + "/" + path), ErrorKind::BrokenHost);
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

} // namespace ogh::amd_kfd
