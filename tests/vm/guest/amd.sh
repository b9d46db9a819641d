# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
#
# To be sourced after lib.sh: a host with two GPUs of AMD's, made up. The numbers of their nodes are those of drivers that
# do without the hardware: amdgpu's /dev/kfd, and render nodes of virtio-gpu and vgem.
#
# shellcheck disable=SC2016,SC2154 # the dollars in single quotes are jq's; the variables are those of lib.sh

amd_hook_file=/usr/share/containers/oci/hooks.d/21-amd-kfd.json
amd_key=io.oci-gpu-hooks.amd-kfd

modprobe --all virtio_pci amdgpu virtio-gpu vgem

# render_node DRIVER : the name of its render node.
render_node() {
    local node
    for node in /sys/class/drm/renderD*; do
        [[ $(realpath "$node/device") != *"$1"* ]] || basename "$node"
    done
}
first=$(render_node /pci)
second=$(render_node /vgem)

[ "$first $second" = 'renderD128 renderD129' ] || fail "the render nodes are $first and $second"

amd=$shared/amd
if [ ! -e "$amd" ]; then
    cp -a "$guest/../hosts/amd" "$amd"
    cp /proc/devices "$amd/proc/devices"
    cp /sys/class/kfd/kfd/dev "$amd/sys/devices/virtual/kfd/kfd/dev"
    look_at "$amd" "$amd_hook_file"
fi

# ask_for_amd_gpu VALUE : and for the host's programs.
ask_for_amd_gpu() {
    ask_for_gpu "$1" "$amd_key" "$amd_hook_file"
    add_programs
}

# add_programs : the host's own, and /other, which is the first GPU's node, made by hand.
add_programs() {
    mkdir "$bundle/rootfs/usr"
    ln -s usr/lib usr/lib64 "$bundle/rootfs"
    edit '.mounts += [{destination: "/usr", type: "bind", source: "/usr", options: ["bind", "ro"]}]'
    mknod -m 666 "$bundle/rootfs/other" c 226 "${first#renderD}"
}
