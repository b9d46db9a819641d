// SPDX-License-Identifier: Apache-2.0
#include "nvidia-devices/driver/driver_places.h"

#include <sys/stat.h>

#include "base/error.h"
#include "base/text.h"

namespace ogh::nvidia_devices {

Sysroot open_driver_root(const DriverPlaces &places)
{
    const std::string &path = places.root;
    if (!path.starts_with('/'))
        throw Error(ErrorKind::Usage, "--driver-root needs an absolute path, not " + quote(path));
    const auto found = places.sysroot.find(path);
    struct stat status {};
    if (!found || ::fstat(found->fd.get(), &status) != 0 || !S_ISDIR(status.st_mode))
        throw Error(ErrorKind::BrokenHost, "--driver-root " + quote(path) + " is no directory of this host");
    return Sysroot(places.sysroot.on_host(found->path));
}

} // namespace ogh::nvidia_devices
