// SPDX-License-Identifier: Apache-2.0
//
// What it takes to let a device cgroup allow more, in either version.

#pragma once

struct device {
    unsigned major, minor;
};

// Reading and writing of these character devices, in a cgroup that make_device_cgroup() has made.
void allow_devices(int cgroup, const struct device *devices, int count);
