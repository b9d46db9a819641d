# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
#
# To be sourced after demo_container.sh: a host with an NVIDIA driver and four GPUs, all made up in $host.

host=${scratch:?}/${0##*/demo_}-host
version=555.42.07
# NVIDIA's number is 195. No driver can have one above 511, so nothing happens here when such a node is opened.
major=1195
uvm_major=1510

# Addresses in the order of PCI, and the number N of /dev/nvidiaN, which has another one.
addresses=(0000:18:00.0 0000:3b:00.0 0000:86:00.0 0000:af:00.0)
minors=(2 3 0 1)
uuid_start=GPU-5a1c0de0-1111-4222-8333-01234567890

make_gpu() {
    local at=$1 folder
    folder=$host/proc/driver/nvidia/gpus/${addresses[at]}
    mkdir -p "$folder"
    printf '%s\n' $'Model: \t\t NVIDIA Example 48' $'GPU UUID: \t '"$uuid_start$at" \
        $'Bus Location: \t '"${addresses[at]}" $'Device Minor: \t '"${minors[at]}" \
        $'GPU Excluded:\t No' >"$folder/information"
    mknod -m 666 "$host/dev/nvidia${minors[at]}" c "$major" "${minors[at]}"
}

make_host() {
    local at driver=$host/proc/driver/nvidia
    mkdir -p "$driver/gpus" "$host/dev"
    echo "NVRM version: NVIDIA UNIX x86_64 Kernel Module  $version  Mon Jan  5 10:11:12 UTC 2026" >"$driver/version"
    printf '%s\n' 'ModifyDeviceFiles: 1' 'DeviceFileMode: 438' >"$driver/params"
    echo 'Binary: ""' >"$driver/registry"
    printf '%s\n' 'Character devices:' "$major nvidia" "$major nvidiactl" "$uvm_major nvidia-uvm" '' \
        >"$host/proc/devices"
    for at in "${!addresses[@]}"; do
        make_gpu "$at"
    done
    mknod -m 666 "$host/dev/nvidiactl" c "$major" 255
    mknod -m 666 "$host/dev/nvidia-uvm" c "$uvm_major" 0
    mknod -m 666 "$host/dev/nvidia-uvm-tools" c "$uvm_major" 1
}

# make_program FILE LIBRARY : a program that says where it has found a library, which is looked for when it runs.
make_program() {
    mkdir -p "$(dirname "$1")"
    gcc -D_GNU_SOURCE -DNAME="\"$2\"" -o "$1" -xc - <<'TEXT'
#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
int main(void)
{
    struct link_map *found;
    void *library = dlopen(NAME, RTLD_NOW);
    if (!library || dlinfo(library, RTLD_DI_LINKMAP, &found) != 0)
        return fprintf(stderr, "%s\n", dlerror()), 1;
    return puts(found->l_name) < 0;
}
TEXT
}

# What the driver's packages put on a host; this is all that the default capabilities need.
make_driver_files() {
    local name
    mkdir -p "$host/usr/lib64"
    for name in libcuda libnvidia-ml; do
        gcc -shared -fPIC -Wl,-soname,$name.so.1 -o "$host/usr/lib64/$name.so.$version" -xc /dev/null
    done
    make_program "$host/usr/bin/nvidia-smi" libnvidia-ml.so.1
}

note_gpus() {
    local at
    for at in "${!addresses[@]}"; do
        note GPU "$at  ${addresses[at]}" "/dev/nvidia${minors[at]}, $uuid_start$at"
    done
}
