# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
#
# To be sourced after lib.sh: two PCI devices whose driver stands in for the one of GPUs, see ../module/gpu_stand_in.c.
# The kernel's log, sysfs and the list of the GPUs in /proc are the kernel's own.
#
# shellcheck disable=SC2034,SC2154 # for the tests; the variables are those of lib.sh

devices=/sys/bus/pci/devices
parameters=/sys/module/gpu_stand_in/parameters

# load_stand_in DRIVER : which is called so. $gpus are the addresses of its devices.
load_stand_in() {
    modprobe drm
    insmod "/lib/modules/$(uname -r)/gpu_stand_in.ko" "driver=$1"
    driver=/sys/bus/pci/drivers/$1
    mapfile -t gpus < <(basename --multiple "$driver"/0000:*)
    [ "${#gpus[@]}" -eq 2 ] || fail "the stand-in has ${gpus[*]}"
}

# tell PARAMETER TEXT
tell() {
    printf '%s\n' "$2" >"$parameters/$1"
}

# xid ADDRESS NUMBER [WORDS] : NVIDIA's driver says so.
xid() {
    tell say "NVRM: Xid (PCI:${1%.*}): $2, ${3:-what the driver says}"
}

# A host with NVIDIA's files, made up, and these GPUs; and a container that asks for VALUE.
new_host() {
    host=$shared/stand_in
    cp -a "$guest/../hosts/nvidia" "$host"
    cp -R "$guest/../installed/." "$host"
    rm -r "$host"/sys "$host"/proc/driver/nvidia/gpus
    mkdir -p "$host"/{dev,sys,proc/driver/nvidia/gpus}
    mknod "$host/dev/kmsg" c 1 11
    mount --bind /sys "$host/sys"
    mount --bind /proc/driver/nvidia/gpus "$host/proc/driver/nvidia/gpus"

    new_bundle runc
    ask_for_gpu VALUE "$nvidia_key" "$host$nvidia_hook_file"
    add_hook_options --sysroot "$host"
    edit '.process.args = ["ls", "/proc/driver/nvidia/gpus"]'
    cp "$bundle/config.json" "$shared/asker.json"
}

remove_host() {
    umount "$host/sys" "$host/proc/driver/nvidia/gpus"
    rm -r "$host"
    rmmod gpu_stand_in
}

# look STATUS [OPTION…] : `check` ends with it; what it has said is in $output.
look() {
    local wanted=$1 status=0
    shift
    oci-gpu-hooks check --sysroot "$host" "$@" >"$output" || status=$?
    [ "$status" -eq "$wanted" ] || fail "check ended with $status: $(cat "$output")"
}

# says TEXT : `check` has said this in the last look, in any of its lines.
says() {
    grep -qF -- "$1" "$output" || fail "check does not say '$1': $(cat "$output")"
}

# states : the host's GPUs, as the hook lists them: free, shared or drained, and what is wrong with them.
states() {
    "$host/usr/local/libexec/oci/hooks.d/nvidia-devices" --sysroot "$host" --list |
        awk '$2 ~ /^0000:/ { text = $2; for (i = 6; i <= NF; ++i) text = text " " $i; print text }'
}

# expect_states TEXT [WHEN]
expect_states() {
    expect "the GPUs ${2-}" "$1" <(states)
}

# run_asker RUNTIME VALUE : a container that asks for these GPUs, and shows those that it gets.
run_asker() {
    sed "s/VALUE/$2/" "$shared/asker.json" >"$bundle/config.json"
    "$1" run --bundle "$bundle" "asker-$BASHPID" >"$output" 2>&1 </dev/null
}

# given VALUE : what such a container shows. By crun, which starts in a fraction of the time.
given() {
    run_asker crun "$1" || true
    cat "$output"
}

# refused VALUE WORDS : such a container does not start, for this reason. By runc, which shows what the hook says.
refused() {
    ! run_asker runc "$1" || fail "it has started: $(cat "$output")"
    grep -F -- "$2" "$output" || fail "the hook does not say '$2': $(cat "$output")"
}
