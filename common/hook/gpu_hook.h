// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "hook/gpu_vendor.h"

namespace ogh {

/**
 * run_hook() for GPUs: with the options that every hook for GPUs has, with the capabilities that device nodes and device
 * cgroups take, and from the request to the edits in one order for all vendors.
 * @return the exit status
 */
int run_gpu_hook(int argc, const char *const *argv, GpuVendor &vendor);

} // namespace ogh
