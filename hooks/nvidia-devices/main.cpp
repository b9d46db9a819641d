// SPDX-License-Identifier: Apache-2.0
#include "hook/gpu_hook.h"
#include "nvidia-devices/nvidia_gpus.h"

int main(int argc, char **argv)
{
    ogh::nvidia_devices::NvidiaGpus gpus;
    return ogh::run_gpu_hook(argc, argv, gpus);
}
