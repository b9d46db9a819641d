// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace ogh {

/**
 * Whether what is open (O_PATH will do) lies on a filesystem whose files are no data but the kernel's words, or its
 * switches: procfs, sysfs, control groups and their like. Also true where the kernel does not tell.
 */
bool is_kernel_interface(int fd);

} // namespace ogh
