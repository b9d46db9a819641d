// SPDX-License-Identifier: Apache-2.0
#include "lease/waiting/refusals.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <exception>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "lease/waiting/lease_directory.h"

namespace ogh {

namespace {

constexpr const char *refusals_name = "refusals";
constexpr const char *the_refusals = "the file of refusals";
constexpr size_t max_refusals_file = size_t{64} << 10U;

/**
 * Others have it for a moment only, or have been stopped. Not by lock_file(): that names who keeps a lock, by /proc, which is
 * the container's here if the hook had entered it.
 */
bool has_locked_soon(int file)
{
    constexpr int most_tries = 1000;
    constexpr useconds_t pause_us = 1000;
    for (int tries = 0; ::flock(file, LOCK_EX | LOCK_NB) != 0; ++tries) {
        if (tries == most_tries)
            return false;
        ::usleep(pause_us);
    }
    return true;
}

/** Where they cannot be understood they begin anew. */
Refusals refusals_in(int file)
try {
    return parse_object(read_all(file, max_refusals_file, the_refusals), the_refusals).get<Refusals>();
} catch (const Error &) {
    return {};
} catch (const nlohmann::json::exception &) {
    return {};
}

} // namespace

void count_refusal(const LeaseDirectory &directory, const std::string &hook, size_t status) noexcept
try {
    const UniqueFd file = directory.open_private(refusals_name, O_RDWR);
    if (!has_locked_soon(file.get()))
        return;
    Refusals refusals = refusals_in(file.get());
    ++refusals[hook].at(status);
    if (::ftruncate(file.get(), 0) == 0 && ::lseek(file.get(), 0, SEEK_SET) == 0)
        write_all(file.get(), nlohmann::json(refusals).dump() + "\n", the_refusals);
} catch (const std::exception &) {
    return;
}

Refusals read_refusals(const Sysroot &sysroot)
try {
    const auto directory = LeaseDirectory::find(sysroot);
    return directory ? refusals_in(directory->open_private(refusals_name, O_RDONLY).get()) : Refusals();
} catch (const SystemError &error) {
    if (error.error_number() == ENOENT)
        return {};
    throw;
}

} // namespace ogh
