// SPDX-License-Identifier: Apache-2.0
#include "amd-kfd/amd_gpus.h"
#include "hook/gpu_hook.h"

int main(int argc, char **argv)
{
    ogh::amd_kfd::AmdGpus gpus;
    return ogh::run_gpu_hook(argc, argv, gpus);
}
