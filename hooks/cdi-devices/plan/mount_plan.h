// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cdi-devices/host/host_files.h"
#include "cdi/spec.h"
#include "edits/edits.h"

namespace ogh::cdi_devices {

/** What of a specification's mounts is writable. */
enum class Writable {
    Stated, ///< what it says "rw" of
    Spec,   ///< what it does not say "ro" of, as engines have it
    Never,
};

/**
 * A mount, by the words of its options. Pure.
 * @param host what the host has at its host path
 * @param driver_version of NVIDIA's driver; "" if it is not known. A file that is gone may be that of another one
 * @throws Error: BrokenHost if the host has not what is mounted; Denied for a type or an option that is not known, and as
 *         mount_target()
 */
MountEdit plan_mount(const cdi::Mount &mount, const HostFile &host, Writable writable,
                     const std::string &driver_version);

} // namespace ogh::cdi_devices
