# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
#
# To be sourced after demo_container.sh: a host with an NVIDIA driver and four GPUs, all made up in $host.
#
# shellcheck disable=SC2034 # some are for the shows

host=${scratch:?}/${0##*/demo_}-host
version=555.42.07
# NVIDIA's number is 195. No driver can have one above 511, so nothing happens here when such a node is opened.
major=1195
uvm_major=1510

# Of each GPU, in the order of PCI: its address, its UUID, and the number N of /dev/nvidiaN, which is another one.
addresses=()
uuids=()
minors=()

tests/hosts/make nvidia "$host" >"$scratch/gpus"
while read -r address uuid minor; do
    addresses+=("$address")
    uuids+=("$uuid")
    minors+=("$minor")
done <"$scratch/gpus"

note_gpus() {
    local at
    for at in "${!addresses[@]}"; do
        note GPU "$at  ${addresses[at]}" "/dev/nvidia${minors[at]}, ${uuids[at]}"
    done
}
