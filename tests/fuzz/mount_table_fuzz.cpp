// SPDX-License-Identifier: Apache-2.0
#include <sys/mman.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

#include "base/unique_fd.h"
#include "kernel/mount_table.h"
#include "promise.h"
#include "reference_mountinfo.h"
#include "target.h"

namespace ogh::fuzz {

namespace {

UniqueFd file_of(std::string_view text)
{
    UniqueFd fd(::memfd_create("mountinfo", MFD_CLOEXEC));
    if (!fd.valid() || ::write(fd.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size()))
        throw std::system_error(errno, std::generic_category(), "memfd");
    return fd;
}

/** The kernel numbers mounts by positive ints; statx(2) tells them as 64 bits. */
void check_absent(const MountTable &table, std::uint64_t mount_id)
{
    require(table.is_shared(mount_id), "what is not listed counts as shared");
    require(table.mount_point(mount_id).empty(), "what is not listed is nowhere");
}

void check_entry(const MountTable &table, const Mount &mount)
{
    require(table.has_device(makedev(mount.major, mount.minor)), "every filesystem is found");
    require(table.is_shared(mount.id) == mount.shared, "shared mounts are told from others");
    require(table.mount_point(mount.id) == mount.target, "mount points are named as they are");
    check_absent(table, mount.id | (std::uint64_t{1} << 32U));
}

} // namespace

void check(std::string_view input)
{
    const UniqueFd file = file_of(input);
    const auto outcome = attempt([&] { return MountTable(file.get()); });
    if (!outcome.value) {
        require(outcome.kind == ErrorKind::BrokenHost, "a table that cannot be read is the host's fault");
        return;
    }
    const MountTable &table = *outcome.value;
    check_absent(table, std::uint64_t{1} << 40U);
    for (const Mount &mount : mounts_as_the_kernel_writes(input))
        check_entry(table, mount);
    // The descriptor is not used up, nor is its offset anybody's concern.
    require(attempt([&] { return MountTable(file.get()); }).value.has_value(), "a table can be read again");
}

} // namespace ogh::fuzz
